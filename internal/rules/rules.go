// Package rules holds the rules document: its model, parsing and validation, which requests a rule covers, and the key
// that it counts a request by.
//
// A document is read once, by Parse. What comes out never changes and is safe for concurrent use; to change the rules,
// parse another document and swap the Set.
package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/limit"
)

// Policy is what happens to a request that no rule speaks of.
type Policy uint8

const (
	Allow Policy = iota
	Deny
)

var policies = []string{Allow: "allow", Deny: "deny"}

// String returns the name that rules documents use.
func (p Policy) String() string { return nameOf(policies, int(p)) }

// OnError is what a rule does with a request while its counters cannot be reached.
type OnError uint8

const (
	// OnErrorLocal counts in this process alone, with the capacity divided by Set.Instances. The API stays up and stays
	// limited, though not to the unit.
	OnErrorLocal OnError = iota
	// OnErrorAllow lets the request through: the API stays up, its limits do not.
	OnErrorAllow
	// OnErrorDeny refuses the request: the limits hold, the API does not.
	OnErrorDeny
)

var failures = []string{OnErrorLocal: "local", OnErrorAllow: "allow", OnErrorDeny: "deny"}

// String returns the name that rules documents use.
func (o OnError) String() string { return nameOf(failures, int(o)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// defaultInstances is the number of processes that are taken to share the load where the document does not say.
const defaultInstances = 20

// Set is a whole rules document. It is read-only.
type Set struct {
	Rules     []*Rule // in file order, which is the order of charging
	Unmatched Policy  // for requests that no rule matches
	Instances int     // how many processes share the load; what OnErrorLocal divides by
	Warnings  []string

	deny, skip []selector
}

// Banned reports whether an entry of deny covers the request. Nothing lifts a ban.
func (s *Set) Banned(r *Request) bool {
	for i := range s.deny {
		if s.deny[i].covers(r) {
			return true
		}
	}
	return false
}

// Skipped reports whether an entry of skip lifts every limit from the request. An entry lifts limits only from requests
// that are spelled exactly as it is: letter case counts, and a path that had to be cleaned is never skipped.
func (s *Set) Skipped(r *Request) bool {
	for i := range s.skip {
		if s.skip[i].coversExactly(r) {
			return true
		}
	}
	return false
}

// Rule returns the rule with this name; ok is false if there is none.
func (s *Set) Rule(name string) (r *Rule, ok bool) {
	for _, r := range s.Rules {
		if r.Name == name {
			return r, true
		}
	}
	return nil, false
}

// Rule says which requests it covers, what it counts them by and how many it allows. It is read-only.
type Rule struct {
	Name    string
	Key     string        // the key's template, as the document has it
	Limits  []limit.Limit // one to limit.MaxLimits, in the order of their names
	Costs   []int64       // units that a request takes from each limit, never more than it can ever allow
	Atomic  bool          // charged together with the other atomic rules that cover a request: all of them or none
	OnError OnError

	when           selector
	template       template
	prefix, suffix string // of the names of its counters
}

// Matches reports whether the rule covers the request. It allocates nothing, but for the first look at a request whose
// path has to be cleaned.
func (r *Rule) Matches(req *Request) bool { return r.when.covers(req) }

// AppendKey appends the key that the rule counts this request by. The request must be one that the rule matches. The key
// is printable ASCII and at most MaxKey bytes long.
func (r *Rule) AppendKey(dst []byte, req *Request) []byte {
	start := len(dst)
	dst = r.template.append(dst, req, &r.when)
	return bounded(dst, start)
}

// Item returns the name of the counter for a key that AppendKey made: rule, key and shape.
func (r *Rule) Item(key string) string { return r.prefix + key + r.suffix }

// ItemFor is Item for a key that a person typed, as replays and logs print it. The error says why the rule can never have
// made such a key.
func (r *Rule) ItemFor(key string) (string, error) {
	if err := r.template.fits(key); err != nil {
		return "", fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", key, r.Name, r.Key, err)
	}
	return r.Item(key), nil
}
