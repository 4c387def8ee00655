// Package ruledoc has the rules document as plain Go data.
//
// Everything else about rules derives from these types: files are decoded
// into them (package rulefile), editors get a JSON Schema made from their
// tags, published versions store them as JSON, diffs compare them, and package
// rules compiles them into what a limiter evaluates. Go programs fill them in
// directly.
//
// The zero value of a field means that the document does not state it. The tag
// json names a field; Tags has the other tags.
package ruledoc

import "time"

// PlanOverrides is the key in Document.Overrides for overrides of callers'
// plans. All other keys there name rules.
const PlanOverrides = "plan"

// ReservedNames are the names that no rule can have, with what each stands for.
var ReservedNames = map[string]string{
	"deny":        "the deny list in responses",
	"unmatched":   "requests that no rule matches in responses",
	"undisclosed": "rules that responses do not name",
	PlanOverrides: "the plans of callers among overrides",
}

// Document is a set of rules. All rules that match a request apply.
type Document struct {
	Defaults       *Defaults                      `json:"defaults,omitempty"`
	ClientIP       *ClientIP                      `json:"client_ip,omitempty"`
	Authentication *Authentication                `json:"authentication,omitempty"`
	Unmatched      string                         `json:"unmatched,omitempty" enum:"allow deny"`
	AmbiguousPaths string                         `json:"ambiguous_paths,omitempty" enum:"deny clean"`
	Headers        string                         `json:"headers,omitempty" enum:"standard legacy both off"`
	RetryJitter    string                         `json:"retry_jitter,omitempty"`
	Denied         *Denied                        `json:"denied,omitempty"`
	Deny           []Selector                     `json:"deny,omitempty"`
	Skip           []Selector                     `json:"skip,omitempty"`
	HashSecret     *HashSecret                    `json:"hash_secret,omitempty"`
	Plan           *PlanSource                    `json:"plan,omitempty"`
	Rules          []Rule                         `json:"rules"`
	Plans          map[string]Plan                `json:"plans,omitzero"`
	Overrides      map[string]map[string]Override `json:"overrides,omitempty"`
}

// Defaults are used by rules that do not state their own.
type Defaults struct {
	OnError   string `json:"on_error,omitempty" enum:"local allow deny"`
	Instances int64  `json:"instances,omitempty" range:"1 2147483647"`
}

// Denied is the answer to denied requests: of the document, or of one rule. A
// field that a rule does not state is that of the document. One that the document
// does not state either is that of problem details with status 429.
type Denied struct {
	Status      int64  `json:"status,omitempty" range:"400 599"`
	Type        string `json:"type,omitempty" pattern:"^([A-Za-z][A-Za-z0-9+.-]*:|/)[!#$%&'()*+,./0-9:;=?@A-Z_a-z~[\\]-]{0,299}$"`
	Title       string `json:"title,omitempty" pattern:"^[ !#-;=?-[\\]-z|~]{1,300}$"`
	Detail      string `json:"detail,omitempty" pattern:"^[ !#-;=?-[\\]-~]{1,300}$"`
	ContentType string `json:"content_type,omitempty"`
	Body        string `json:"body,omitempty"`
}

// ClientIP says where to read the client's address behind proxies: in
// X-Forwarded-For, or in a header that is trusted only together with a secret.
type ClientIP struct {
	TrustedHops *int64       `json:"trusted_hops,omitempty" range:"0 32"`
	Header      string       `json:"header,omitempty"`
	Secret      *ProxySecret `json:"secret,omitempty"`
}

// ProxySecret is the proof of a trusted proxy: a header with a secret value,
// which the limiter reads from its environment.
type ProxySecret struct {
	Header string `json:"header,omitempty"`
	Env    string `json:"env,omitempty" pattern:"^[A-Za-z_][A-Za-z0-9_]*$"`
}

// HashSecret names the secret for hashed keys. Check is the start of its
// SHA-256, so that no process counts with another secret.
type HashSecret struct {
	Env   string `json:"env,omitempty" pattern:"^[A-Za-z_][A-Za-z0-9_]*$"`
	Check string `json:"check,omitempty" pattern:"^[0-9a-f]{8}$"`
}

// PlanSource says how to find the plan of a caller.
type PlanSource struct {
	From      string `json:"from,omitempty"`
	Overrides string `json:"overrides,omitempty"`
	Hash      bool   `json:"hash,omitempty"`
}

// Selector says which requests something covers: those for which every stated
// field matches. A field that lists several values matches if one of them does.
type Selector struct {
	Methods Texts            `json:"methods,omitempty"`
	Route   Texts            `json:"route,omitempty"`
	Path    Texts            `json:"path,omitempty"`
	CIDRs   Texts            `json:"cidrs,omitempty"`
	Caller  Texts            `json:"caller,omitempty" enum:"anonymous known rejected"`
	Match   map[string]Words `json:"match,omitempty" items:"1 0"`
}

// Rule counts requests by a key and limits each key. It states either Limit or
// Limits. The normal form has Limits alone.
type Rule struct {
	Name         string        `json:"name,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,62}$"`
	When         *Selector     `json:"when,omitempty"`
	Unless       *Selector     `json:"unless,omitempty"`
	Key          string        `json:"key,omitempty"`
	Hash         bool          `json:"hash,omitempty"`
	Trusted      Texts         `json:"trusted,omitempty"`
	Overrides    *OverrideKeys `json:"overrides,omitempty"`
	Counter      string        `json:"counter,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,62}$"`
	Cost         *Cost         `json:"cost,omitempty"`
	Limit        *Limit        `json:"limit,omitempty"`
	Limits       []Limit       `json:"limits,omitempty" items:"1 8"`
	RefundOn     Statuses      `json:"refund_on,omitempty"`
	SettleWithin string        `json:"settle_within,omitempty"`
	Reservations int64         `json:"reservations,omitempty" range:"1 1000"`
	Mode         string        `json:"mode,omitempty" enum:"enforce shadow off"`
	Atomic       bool          `json:"atomic,omitempty"`
	Lease        int64         `json:"lease,omitempty" range:"2 1000"`
	OnError      string        `json:"on_error,omitempty" enum:"local allow deny"`
	Headers      string        `json:"headers,omitempty" enum:"on off"`
	Denied       *Denied       `json:"denied,omitempty"`
}

// Limit is one limit of a rule, or of an override, where Candidate, InFlight and
// an Anchor with a source are not allowed. Documents may write it as a rate: see
// Limit.Rate. A limit InFlight states Expires, and of the other fields a Name and
// a Cost alone.
type Limit struct {
	Name        string     `json:"name,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,30}$"`
	Algorithm   string     `json:"algorithm,omitempty"`
	InFlight    int64      `json:"in_flight,omitempty" range:"1 1000"`
	Expires     string     `json:"expires,omitempty"`
	Capacity    int64      `json:"capacity,omitempty" range:"1 999999999999999" unless:"in_flight expires"`
	Burst       int64      `json:"burst,omitempty" range:"1 999999999999999"`
	Queue       int64      `json:"queue,omitempty" range:"1 999999999999999"`
	Window      string     `json:"window,omitempty" unless:"in_flight expires"`
	Timezone    string     `json:"timezone,omitempty"`
	Anchor      *Anchor    `json:"anchor,omitempty"`
	Granularity string     `json:"granularity,omitempty"`
	Cost        *Cost      `json:"cost,omitempty"`
	Over        string     `json:"over,omitempty" enum:"clamp"`
	Candidate   *Candidate `json:"candidate,omitempty"`
}

// Plan has the capacities of callers with this plan, by the names of rules.
type Plan map[string]PlanCapacity

// Override replaces limits for one exact key. It states exactly one of
// Capacity, Limits, Unlimited, Plan and Deny.
type Override struct {
	Capacity  Capacities `json:"capacity,omitempty"`
	Limits    []Limit    `json:"limits,omitempty" items:"1 8"`
	Unlimited bool       `json:"unlimited,omitempty" only:"true"`
	Plan      string     `json:"plan,omitempty" pattern:"^[!-~]([ -~]{0,61}[!-~])?$"`
	Deny      bool       `json:"deny,omitempty" only:"true"`
	Until     time.Time  `json:"until,omitzero"`
	Why       string     `json:"why,omitempty" empty:"ok"`
}
