// Package rules evaluates requests by a rules document: which rules cover a
// request, by which keys they count it, and which limits apply to it.
//
// Compile checks a document once. The Set never changes and is safe for
// concurrent use; to change the rules, compile another document and swap the
// Set.
package rules

import (
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// LongestHold is how long the local gateway and the middleware hold a request
// until its turn in a leaky bucket, unless they are set otherwise.
const LongestHold = 10 * time.Second

// Policy is what happens to a request that no rule matches.
type Policy uint8

// The policies for requests without a rule.
const (
	Allow Policy = iota
	Deny
)

var policies = []string{Allow: "allow", Deny: "deny"}

// String returns the name that rules documents use.
func (p Policy) String() string { return policies[p] }

// OnError is what a rule does with a request while its counters cannot be
// reached.
type OnError uint8

const (
	// OnErrorLocal counts in this process alone, with the capacity divided by
	// Set.Instances. The API stays available and limited, though not exactly.
	OnErrorLocal OnError = iota
	// OnErrorAllow lets the request through: the API stays up, its limits do not.
	OnErrorAllow
	// OnErrorDeny refuses the request: the limits hold, the API does not.
	OnErrorDeny
)

var failures = []string{OnErrorLocal: "local", OnErrorAllow: "allow", OnErrorDeny: "deny"}

// String returns the name that rules documents use.
func (o OnError) String() string { return failures[o] }

// Set is a compiled rules document. It is read-only once its secrets are loaded
// (see LoadSecrets).
//
// A limiter asks in this order, and the first answer decides: Unmet and Locate,
// which prepare the request, then Ambiguous, Banned, Skipped and Match. Each rule
// that matches gives the key to count by, and the Terms to charge.
type Set struct {
	Rules     []*Rule  // in file order
	Unmatched Policy   // for requests that no rule matches
	Instances int      // how many processes share the load; what OnErrorLocal divides by
	Stated    bool     // the document has Instances; else they are a default
	Answers   Answers  // what clients learn of decisions
	Warnings  []string // of the file that the set was loaded from
	Caveats   []string // what limiters do not do yet with the rules of that file
	// PassClaims names the claims that backends get, those that matter most first.
	PassClaims []string
	// Unpublished says that the set stands for rules that were never published:
	// it allows every request, and marks every decision as degraded.
	Unpublished bool
	// Version is the number of the rules in their table; 0 for others.
	Version int64

	document        *ruledoc.Document // normalized; no request looks at it
	deny, skip      []match.Selector
	banned, skipped *match.Lookup    // deny and skip, ready to be looked up
	required        []match.Selector // of requests that need a known caller
	index           *match.Index     // of when of the rules
	denyAmbiguous   bool             // paths that servers may read in several ways
	deniesOperation string           // what denies by the GraphQL operation; "" for nothing
	countsOperation string           // what counts by it without selecting it; "" for nothing
	address         request.ClientAddress
	plan            planSource
	usageKey        key.Part                                        // of UsageIdentifierKey; the zero Part for none
	plans           []string                                        // names, sorted
	overrides       map[string]map[string]*Override                 // by rule (or PlanOverrides) and plain key
	hash            *key.Hash                                       // of keys; nil for none
	hashed          func() (map[string]map[string]*Override, error) // overrides by rule and hash; nil if no keys are hashed
}

// Document returns the normalized document that the set was compiled from. It
// must not be changed.
func (s *Set) Document() *ruledoc.Document { return s.document }

// Locate replaces the gateway's peer by the client's address if the document
// says that there are proxies between them. Call it before any other use of the
// request.
func (s *Set) Locate(r *request.Request) { s.address.Locate(r) }

// FromProxy reports whether the peer that sent the request is a proxy of client_ip.
func (s *Set) FromProxy(r *request.Request) bool { return s.address.Trusts(r) }

// Ambiguous reports whether the request is denied before anything else, because
// servers may read its path in several ways (see urlpath.Examine), or a parameter
// of its query that an enforced rule counts by, or may run another GraphQL
// operation than the rules see. The gateway's route does not
// matter: it says where the gateway sends the request, not what the server behind
// it answers.
func (s *Set) Ambiguous(r *request.Request) bool {
	parameter, _ := s.ambiguousParameter(r)
	return s.denyAmbiguous && r.Derived().Ambiguity.Ambiguous() || parameter != "" || s.ambiguousOperation(r)
}

func (s *Set) ambiguousOperation(r *request.Request) bool {
	return s.deniesOperation != "" && r.Operation.Ambiguous != ""
}

// ambiguousParameter returns an ambiguous parameter of the query, and the rule that
// counts by it; "" for none.
func (s *Set) ambiguousParameter(req *request.Request) (parameter string, by *Rule) {
	for _, name := range req.AmbiguousQuery {
		for _, r := range s.Rules {
			if r.Enforced() && r.reads(key.Part{Kind: key.FromQuery, Text: name}) && r.Matches(req) {
				return name, r
			}
		}
	}
	return "", nil
}

// reads reports whether the rule's key or one of its costs holds a source.
func (r *Rule) reads(p key.Part) bool {
	return r.template.Has(p) || r.cost.from == p || slices.ContainsFunc(r.Costs, func(c Cost) bool { return c.from == p })
}

// Banned reports whether an entry of deny matches the request. Nothing overrides
// deny.
func (s *Set) Banned(r *request.Request) bool { return s.banned.Covers(r) }

// LacksCaller reports whether the request needs verified credentials and has none.
// Neither skip nor an override lifts that. It is false for invalid credentials,
// which no request may have, and for preflights, which cannot have any.
func (s *Set) LacksCaller(r *request.Request) bool {
	if len(s.required) == 0 || r.Caller() != request.Anonymous || r.IsPreflight() {
		return false
	}
	return slices.ContainsFunc(s.required, func(m match.Selector) bool { return m.Covers(r) })
}

// Principal returns the subject of the caller's token or API key, hashed if keys of
// counters are; "" for none.
func (s *Set) Principal(r *request.Request) string {
	subject, _ := r.Claim("sub").(string)
	if subject == "" || s.hash == nil {
		return subject
	}
	return s.hash.Of(string(key.AppendValue(nil, subject)))
}

// Skipped reports whether an entry of skip exempts the request from every
// limit. Because an entry removes limits, it matches only the exact path,
// case-sensitively: a path that had to be cleaned is never skipped.
func (s *Set) Skipped(r *request.Request) bool { return s.skipped.CoversExactly(r) }

// Rule returns the rule with this name; ok is false if there is none.
func (s *Set) Rule(name string) (r *Rule, ok bool) {
	for _, r := range s.Rules {
		if r.Name == name {
			return r, true
		}
	}
	return nil, false
}

// Match appends the rules that match the request, in the order of charging: as in
// the file, and those in flight last, so that no request takes a place for a
// while and is denied by another rule then. It allocates
// nothing beyond dst, except on the first look at a request: to clean its path,
// or to remove its letter case.
func (s *Set) Match(dst []*Rule, req *request.Request) []*Rule {
	before := len(dst)
	s.index.Each(req, func(place int32) {
		if r := s.Rules[place]; r.Matches(req) {
			dst = append(dst, r)
		}
	})
	found := dst[before:]
	slices.SortFunc(found, func(a, b *Rule) int { return a.place - b.place })
	return dst[:before+len(slices.Compact(found))]
}

// Rule says which requests it matches, by which keys it counts them and how
// many it allows. It is read-only.
type Rule struct {
	Name    string
	Key     string        // the key's template, as the document has it
	Limits  []limit.Limit // one to limit.MaxLimits, sorted by name
	Costs   []Cost        // what a request takes from each limit
	Atomic  bool          // charged together with other atomic rules, all or none
	Lease   int64         // the most charges that a process makes ahead; 0 for none
	OnError OnError
	Mode    Mode
	Quiet   bool // responses do not mention it
	// Denied is the whole answer to requests that the rule denies; nil for that of
	// the document.
	Denied *Denied
	// SettleWithin is how long a reservation can be settled by its receipt.
	SettleWithin time.Duration
	// Reservations is the most reservations of a key that are open at once.
	Reservations int64
	// Places are those of the limits in the list that the author wrote.
	Places []int
	// Candidates are capacities to try, one for each limit; nil for none.
	Candidates []Candidate

	place        int // in the order of charging
	when         match.Selector
	unless       *match.Selector // nil for none
	template     key.Template
	prefix       string            // of the names of its counters
	cost         Cost              // of limits without a cost of their own
	fixed        []int64           // the costs, if no request and no plan can change them
	own          Terms             // without a plan and an override
	plans        map[string]*Terms // without an override, by plan
	anchors      []anchor
	refunds      []Statuses
	overridable  *key.Template // of the keys of its overrides; nil for none
	restrictOnly bool          // overrides cannot loosen it: the client fills in their keys
	documentOnly bool          // its overrides are those of the document alone
}

// Mode says whether a rule is enforced.
type Mode uint8

const (
	// Enforce denies what the limits deny.
	Enforce Mode = iota
	// Shadow decides, charges and records, but lets every request through.
	Shadow
	// Off does nothing, though the rule is checked.
	Off
)

var modes = []string{Enforce: "enforce", Shadow: "shadow", Off: "off"}

// String returns the name that rules documents use.
func (m Mode) String() string { return modes[m] }

// Matches reports whether the rule matches the request; a rule that is off
// matches none. It allocates nothing, except on the first look at a request.
func (r *Rule) Matches(req *request.Request) bool {
	return r.Mode != Off && r.when.Covers(req) && (r.unless == nil || !r.unless.CoversExactly(req))
}

// CoversCaller reports whether the rule may match a request of this caller,
// whatever its method, path, route and GraphQL operation.
func (r *Rule) CoversCaller(req *request.Request) bool {
	if caller, _ := r.when.OfCaller(); r.Mode == Off || !caller.Covers(req) {
		return false
	}
	if r.unless == nil {
		return true
	}
	_, whole := r.unless.OfCaller()
	return !whole || !r.unless.CoversExactly(req)
}

// NotOfCaller says why the rule's counter is not this caller's own, "" if it is: the
// key holds something of the caller then, and nothing else than its address, its API
// key and its verified claims.
func (r *Rule) NotOfCaller(req *request.Request) string {
	why := "all requests share the counter"
	for i := range r.template.Parts {
		switch p := &r.template.Parts[i]; {
		case p.Kind == key.Literal:
		case p.Kind != key.FromIP && !p.OfCredentials():
			return "the key has {" + p.String() + "}, which does not say who the caller is"
		case !p.In(req):
			return "the caller has no {" + p.String() + "}, and shares the counter of all without it"
		default:
			why = ""
		}
	}
	return why
}

// Counts reports whether a request that the rule matches is charged. CORS
// preflights are free, unless the rule names their method.
func (r *Rule) Counts(req *request.Request) bool {
	return len(r.when.Methods) > 0 || !req.IsPreflight()
}

// BansPreflights reports whether overrides of the rule can deny preflights that
// it does not count. They cannot if clients can make up their keys: a flood of
// free requests would look up each key.
func (r *Rule) BansPreflights() bool {
	return r.overridable != nil && len(r.overridable.Evadable()) == 0
}

// When returns the selector of the requests that the rule covers. The caller must
// not change it.
func (r *Rule) When() *match.Selector { return &r.when }

// ClientSources returns the sources of the rule's key of which the client can
// send a new value with every request, such as "{header.x-user}" or "{ip/128}".
func (r *Rule) ClientSources() []string { return r.template.Evadable() }

// Hashed reports whether tables and logs hold hashes of the rule's keys.
func (r *Rule) Hashed() bool { return r.template.Hash != nil }

// Enforced reports whether the rule can deny requests.
func (r *Rule) Enforced() bool { return r.Mode == Enforce }

// sortedKeys returns the keys of a map in order. Compile goes by them, so the same
// document always has the same problems in the same order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Statuses are HTTP statuses from First to Last.
type Statuses struct{ First, Last int }

// RefundOn returns the statuses of the backend's answers that refund a request.
func (r *Rule) RefundOn() []Statuses { return r.refunds }

// Among reports whether one of the statuses is this one.
func Among(all []Statuses, status int) bool {
	return slices.ContainsFunc(all, func(s Statuses) bool { return s.First <= status && status <= s.Last })
}

// AppendKey appends the key that the rule counts this request by. The rule must
// match the request. The key is printable ASCII and at most MaxKey bytes long.
// With hash: true it reveals nothing of the request.
func (r *Rule) AppendKey(dst []byte, req *request.Request) []byte {
	dst, _ = appendKey(dst, &r.template, req, &r.when)
	return dst
}

// appendKey appends the key of a request that the selector matches; ok is false
// without a template.
func appendKey(dst []byte, t *key.Template, req *request.Request, s *match.Selector) (appended []byte, ok bool) {
	if t == nil {
		return dst, false
	}
	route := ""
	if t.Has(key.Part{Kind: key.FromRoute}) {
		route = s.Route(req)
	}
	return t.Append(dst, req, route), true
}

// maxUsageKey is the longest value that an API key of API Gateway may have.
const maxUsageKey = 128

// UsageIdentifierKey returns the value of the API key by which a REST API's usage
// plans count a request, "" for none. It is a secret if API keys are.
func (s *Set) UsageIdentifierKey(r *request.Request) string {
	value, ok := s.usageKey.Value(r) // "" of the zero Part
	if !ok || len(value) > maxUsageKey {
		return ""
	}
	return value
}
