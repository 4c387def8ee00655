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
	Defaults       *Defaults                      `json:"defaults,omitempty" doc:"Defaults for all rules."`
	ClientIP       *ClientIP                      `json:"client_ip,omitempty" doc:"Where to read the client's address if proxies stand before the gateway."`
	Authentication *Authentication                `json:"authentication,omitempty" doc:"How limiters verify the credentials of callers; without it all live callers are anonymous."`
	Unmatched      string                         `json:"unmatched,omitempty" enum:"allow deny" doc:"What happens to requests that no rule matches: allow (the default) or deny."`
	AmbiguousPaths string                         `json:"ambiguous_paths,omitempty" enum:"deny clean" doc:"What happens to requests whose path servers may read in several ways: deny (the default if anything selects by path or route) or clean (match the path both as sent and as cleaned)."`
	Headers        string                         `json:"headers,omitempty" enum:"standard legacy both off" doc:"Fields of limits in answers: standard (RateLimit and RateLimit-Policy), legacy (X-RateLimit-*), both or off."`
	RetryJitter    string                         `json:"retry_jitter,omitempty" example:"10s" doc:"The most that Retry-After exceeds the true wait, at random, so that denied clients do not all return at once: 1s to 1h."`
	Denied         *Denied                        `json:"denied,omitempty" doc:"The answer to denied requests, in place of status 429 and problem details."`
	Deny           []Selector                     `json:"deny,omitempty" example:"[{cidrs: [198.51.100.0/24]}]" doc:"Requests to refuse before anything else; one matching entry is enough."`
	Skip           []Selector                     `json:"skip,omitempty" example:"[{methods: [GET], route: /health}]" doc:"Requests that no rule limits; one matching entry is enough."`
	HashSecret     *HashSecret                    `json:"hash_secret,omitempty" doc:"The secret for rules and plans with hash: true."`
	Plan           *PlanSource                    `json:"plan,omitempty" doc:"How to find the caller's plan."`
	Rules          []Rule                         `json:"rules" need:"write rules: [] if the document should limit nothing" example:"[{name: per-ip, key: \"ip:{ip}\", limit: 100/minute}]" doc:"The rules: all that match a request apply, and are charged in this order."`
	Plans          map[string]Plan                `json:"plans,omitzero" example:"{pro: {api: 6000}}" names:"^[!-~]([\\x20-~]{0,61}[!-~])?$ ^[a-z0-9][a-z0-9-]{0,62}$" doc:"Capacities by plan, rule and limit, which replace the rules' own."`
	Overrides      map[string]map[string]Override `json:"overrides,omitempty" example:"{api: {\"user:241531\": {capacity: 100}}}" names:"^[a-z0-9][a-z0-9-]{0,62}$" doc:"Overrides for single keys: by rule, or under plan for the plans of callers."`
}

// Defaults are used by rules that do not state their own.
type Defaults struct {
	OnError   string `json:"on_error,omitempty" enum:"local allow deny" doc:"What rules do while their counters cannot be reached: local (the default), allow or deny."`
	Instances int64  `json:"instances,omitempty" range:"1 2147483647" doc:"How many processes share the load, 20 by default: on_error: local divides capacities by it."`
}

// Denied is the answer to denied requests. Fields that it does not state are
// those of problem details with status 429.
type Denied struct {
	Status      int64  `json:"status,omitempty" range:"400 599" doc:"The status, 429 by default; with 429, a ban has 403."`
	ContentType string `json:"content_type,omitempty" example:"application/json" doc:"The type of the body; required with body."`
	Body        string `json:"body,omitempty" example:"Come back in {retryAfter} seconds." doc:"The body: plain ASCII, with values of the denial such as {retryAfter} or {rule}."`
}

// ClientIP says where to read the client's address behind proxies: in
// X-Forwarded-For, or in a header that is trusted only together with a secret.
type ClientIP struct {
	TrustedHops *int64       `json:"trusted_hops,omitempty" range:"0 32" doc:"How many proxies before the gateway append to X-Forwarded-For."`
	Header      string       `json:"header,omitempty" example:"cf-connecting-ip" doc:"The header in which your proxy sends the client's address, such as cf-connecting-ip."`
	Secret      *ProxySecret `json:"secret,omitempty" doc:"Proof that a request came through that proxy; without it any client could send the header."`
}

// ProxySecret is the proof of a trusted proxy: a header with a secret value,
// which the limiter reads from its environment.
type ProxySecret struct {
	Header string `json:"header,omitempty" example:"x-origin-secret" need:"write the header that carries the secret, such as header: x-origin-secret" doc:"The header in which the proxy sends the secret."`
	Env    string `json:"env,omitempty" example:"ORIGIN_SECRET" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" need:"write the environment variable that holds the secret, such as env: ORIGIN_SECRET" doc:"The environment variable that holds the secret."`
}

// HashSecret names the secret for hashed keys. Check is the start of its
// SHA-256, so that no process counts with another secret.
type HashSecret struct {
	Env   string `json:"env,omitempty" example:"KEY_SECRET" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" need:"write the environment variable that holds the secret, such as env: KEY_SECRET" doc:"The environment variable that holds the secret."`
	Check string `json:"check,omitempty" example:"1a2b3c4d" pattern:"^[0-9a-f]{8}$" need:"write the first 8 digits that printf %s \"$KEY_SECRET\" | sha256sum prints, in quotes, so that no process counts under another secret" doc:"The first 8 hex digits of the secret's SHA-256: a process with another secret refuses the rules."`
}

// PlanSource says how to find the plan of a caller.
type PlanSource struct {
	From      string `json:"from,omitempty" example:"jwt.plan" doc:"The claim that names the caller's plan, such as jwt.plan."`
	Overrides string `json:"overrides,omitempty" example:"user:{jwt.sub}" doc:"The key template for plan overrides, which give single callers another plan or deny them."`
	Hash      bool   `json:"hash,omitempty" doc:"true: tables and logs hold hashes of these keys."`
}

// Selector says which requests something covers: those for which every stated
// field matches. A field that lists several values matches if one of them does.
type Selector struct {
	Methods Texts            `json:"methods,omitempty" example:"GET" doc:"HTTP methods, such as GET or [GET, POST]."`
	Route   Texts            `json:"route,omitempty" example:"/v1/**" doc:"Patterns of the gateway's routes; matched against the path of a request without a route."`
	Path    Texts            `json:"path,omitempty" example:"/v1/**" doc:"Patterns of paths: * matches any text within a segment, ** any number of segments."`
	CIDRs   Texts            `json:"cidrs,omitempty" example:"198.51.100.0/24" doc:"Networks of client addresses, such as 198.51.100.0/24."`
	Caller  Texts            `json:"caller,omitempty" enum:"anonymous known rejected" doc:"The caller's credentials: anonymous (none), known (verified) or rejected (invalid)."`
	Match   map[string]Words `json:"match,omitempty" items:"1 0" example:"{jwt.plan: pro}" doc:"Claims such as jwt.plan, apikey, stage, country or asn, and the values to match."`
}

// Rule counts requests by a key and limits each key. It states either Limit or
// Limits. The normal form has Limits alone.
type Rule struct {
	Name      string        `json:"name,omitempty" example:"per-ip" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" need:"write one that no other rule has, such as name: per-ip" doc:"The rule's name, which its counters carry."`
	When      *Selector     `json:"when,omitempty" doc:"Which requests the rule covers; all by default."`
	Unless    *Selector     `json:"unless,omitempty" doc:"Which of those requests the rule leaves out; matched exactly."`
	Key       string        `json:"key,omitempty" example:"\"ip:{ip}\"" need:"write what to count by, such as key: \"ip:{ip}\"" doc:"What the rule counts by: text and sources in braces, such as ip:{ip} or user:{jwt.sub}."`
	Hash      bool          `json:"hash,omitempty" doc:"true: tables and logs hold hashes of the rule's keys."`
	Trusted   Texts         `json:"trusted,omitempty" example:"path.partner" doc:"Client-supplied sources of the key that the backend verifies, such as path.partner."`
	Overrides *OverrideKeys `json:"overrides,omitempty" doc:"true, or a key template: single keys may have other limits."`
	Counter   string        `json:"counter,omitempty" example:"api" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" doc:"The name that the counters carry instead of the rule's; rules with the same one share them."`
	Cost      *Cost         `json:"cost,omitempty" doc:"Units that a request takes, 1 by default; a limit's own cost takes precedence."`
	Limit     *Limit        `json:"limit,omitempty" not:"a list: is one limit: write limits for a list of them" doc:"The rule's only limit: a rate such as 100/minute, 100/60s or 5 per 10s, or a map."`
	Limits    []Limit       `json:"limits,omitempty" items:"1 8" example:"[20/second, 1000/hour]" doc:"Several limits, charged all or none, in place of limit."`
	RefundOn  Statuses      `json:"refund_on,omitempty" example:"5xx" doc:"Statuses of the backend's answer, such as 404 or 5xx, that refund the request."`
	Mode      string        `json:"mode,omitempty" enum:"enforce shadow off" doc:"enforce (the default), shadow (charge and record, but let through) or off."`
	Atomic    bool          `json:"atomic,omitempty" doc:"true: charged together with the other atomic rules that match a request, all or none."`
	Lease     int64         `json:"lease,omitempty" range:"2 1000" doc:"For keys above 1,000 requests a second: how many charges a process may make ahead in one write to DynamoDB."`
	OnError   string        `json:"on_error,omitempty" enum:"local allow deny" doc:"While the counters cannot be reached: count in this process (local), let through (allow) or refuse (deny)."`
	Headers   string        `json:"headers,omitempty" enum:"on off" doc:"off: responses do not mention the rule."`
}

// Limit is one limit of a rule, or of an override, where Candidate and an
// Anchor with a source are not allowed. Documents may write it as a rate: see
// Limit.Rate.
type Limit struct {
	Name        string     `json:"name,omitempty" example:"requests" pattern:"^[a-z0-9][a-z0-9-]{0,30}$" doc:"The limit's name; if a rule has several limits, that of its window by default, such as per-hour."`
	Algorithm   string     `json:"algorithm,omitempty" enum:"sliding_window fixed_window sliding_window_counter sliding_window_log token_bucket leaky_bucket" doc:"The algorithm: sliding_window by default, fixed_window if the window follows the calendar."`
	Capacity    int64      `json:"capacity,omitempty" range:"1 4294967295" need:"write how many units a window allows, such as capacity: 100" doc:"How many units a window allows."`
	Burst       int64      `json:"burst,omitempty" range:"1 4294967295" doc:"The size of a token_bucket; its capacity by default."`
	Queue       int64      `json:"queue,omitempty" range:"1 4294967295" doc:"How many units may wait in a leaky_bucket; its capacity by default."`
	Window      string     `json:"window,omitempty" example:"60s" need:"write a length of time, such as window: 60s" doc:"A length of time, such as 60s, 1m30s or 1d; for a fixed_window also the calendar's 1w and 1mo."`
	Timezone    string     `json:"timezone,omitempty" example:"Europe/Berlin" doc:"The time zone in which the windows 1d, 1w and 1mo start at midnight, such as Europe/Berlin."`
	Anchor      *Anchor    `json:"anchor,omitempty" doc:"The day of the month, 1 to 28, on which months start, or the claim that holds it."`
	Granularity string     `json:"granularity,omitempty" example:"1s" doc:"The width of a sliding_window's slots: more slots allow more of the capacity and store more state."`
	Cost        *Cost      `json:"cost,omitempty" doc:"Units that a request takes from this limit; the rule's cost by default."`
	Over        string     `json:"over,omitempty" enum:"clamp" doc:"clamp: a cost above what the limit can ever allow takes all of it."`
	Candidate   *Candidate `json:"candidate,omitempty" doc:"A candidate capacity, in units or percent: logs report what it would change."`
}

// Plan has the capacities of callers with this plan, by the names of rules.
type Plan map[string]PlanCapacity

// Override replaces limits for one exact key. It states exactly one of
// Capacity, Limits, Unlimited, Plan and Deny.
type Override struct {
	Capacity  Capacities `json:"capacity,omitempty" doc:"Another capacity, or several by limit name; everything else about the limits stays."`
	Limits    []Limit    `json:"limits,omitempty" items:"1 8" example:"[100/minute]" doc:"Limits that replace all of the rule's; a cost that is not stated is that of the rule's limit of the same name."`
	Unlimited bool       `json:"unlimited,omitempty" only:"true" doc:"true: the rule does not limit the key."`
	Plan      string     `json:"plan,omitempty" example:"pro" pattern:"^[!-~]([ -~]{0,61}[!-~])?$" doc:"The caller's plan, whatever the token says."`
	Deny      bool       `json:"deny,omitempty" only:"true" doc:"true: refuse every request of the key."`
	Until     time.Time  `json:"until,omitzero" example:"2026-12-31T00:00:00Z" doc:"When the override ends, such as 2026-12-31T00:00:00Z."`
	Why       string     `json:"why,omitempty" empty:"ok" example:"ticket 81" doc:"The reason, for people."`
}
