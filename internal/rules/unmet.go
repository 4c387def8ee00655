package rules

import (
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// Unmet returns an *UnmetError that names the first rule, ban or exemption that reads
// what an event lacks; nil if there is none. All of the document counts, whether
// or not a request matches it: otherwise a mistake would show only when a rare
// request comes, or a ban by network would never apply.
func (s *Set) Unmet(m *request.Missing) error {
	if m == nil {
		return nil
	}
	u := unmet{Missing: *m, address: m.Address || m.Peer && s.address.Hops == 0 && s.address.Header == ""}
	what := u.ofSet(s, Shadow)
	if what == "" {
		return nil
	}
	return &UnmetError{what, m}
}

// UnmetError says what of the rules reads something that a request lacks.
type UnmetError struct {
	what    string
	missing *request.Missing
}

// Error names the rule, what it reads, and what operators can do about it.
func (e *UnmetError) Error() string {
	return fmt.Sprintf("%s, which %s lacks: %s", e.what, e.missing.Event, e.missing.Instead)
}

// unmet finds what reads something that an event lacks.
type unmet struct {
	request.Missing
	address   bool
	operation bool // of GraphQL
}

// ReadsOperation names the first entry or rule that reads the GraphQL operation of
// a request, as in "rule r reads graphql.type"; "" for none.
func (s *Set) ReadsOperation() string { return (&unmet{operation: true}).ofSet(s, Shadow) }

// UnmetOperation fails for a request without a GraphQL operation if a rule counts
// by one, and may cover the request: it would count all clients together. A rule
// whose when selects operations does not cover the request, as it would not at
// another path. So an AppSync API may share its rules with other APIs.
func (s *Set) UnmetOperation(req *request.Request) error {
	if s.countsOperation == "" || !req.NoOperation {
		return nil
	}
	return fmt.Errorf("%s, which only a request of AppSync has: limit the rule to operations by "+
		"when: {match: {graphql.type: [query, mutation, subscription]}}", s.countsOperation)
}

// countedOperation names the first rule that counts by operations without selecting
// any; "" for none.
func (s *Set) countedOperation() string {
	u := unmet{operation: true}
	for _, r := range s.Rules {
		if what := u.ofCount(r); what != "" && r.Mode <= Shadow && u.ofSelector(&r.when) == "" {
			return fmt.Sprintf(ruleReads, r.Name, what)
		}
	}
	return ""
}

const ruleReads = "rule %s reads %s"

// ofSet names the first entry or rule that reads something missing, and what that
// is; "" for none. Rules of a later mode than most read nothing.
func (u *unmet) ofSet(s *Set, most Mode) (what string) {
	for _, list := range []struct {
		name    string
		entries []match.Selector
	}{{"authentication.required", s.required}, {"deny", s.deny}, {"skip", s.skip}} {
		for i := range list.entries {
			if what := u.ofSelector(&list.entries[i]); what != "" {
				return fmt.Sprintf("%s[%d] reads %s", list.name, i, what)
			}
		}
	}
	for _, r := range s.Rules {
		if what := u.ofRule(r); r.Mode <= most && what != "" {
			return fmt.Sprintf(ruleReads, r.Name, what)
		}
	}
	return ""
}

// ofRule returns the first missing source of the rule's key, overrides, costs and
// selectors; "" for none.
func (u *unmet) ofRule(r *Rule) (what string) {
	if what := u.ofCount(r); what != "" {
		return what
	}
	if what := u.ofSelector(&r.when); what != "" || r.unless == nil {
		return what
	}
	return u.ofSelector(r.unless)
}

// ofCount is ofRule without the selectors.
func (u *unmet) ofCount(r *Rule) (what string) {
	parts := r.template.Parts
	if r.overridable != nil {
		parts = slices.Concat(parts, r.overridable.Parts)
	}
	for _, p := range parts {
		if u.lacks(p) {
			return "{" + p.String() + "}"
		}
	}
	for i := range r.Costs {
		if from := r.Costs[i].from; u.lacks(from) {
			return from.String()
		}
	}
	return ""
}

// ofSelector returns the first field of a selector that reads something missing;
// "" for none. Methods, paths and callers are in every event.
func (u *unmet) ofSelector(s *match.Selector) (what string) {
	if u.address && len(s.CIDRs) > 0 {
		return "cidrs"
	}
	for i := range s.Match {
		if from := s.Match[i].Part; u.lacks(from) {
			return from.String()
		}
	}
	return ""
}

// lacks reports whether the event does not tell a source.
func (u *unmet) lacks(p key.Part) bool {
	switch p.Kind {
	case key.FromIP:
		return u.address
	case key.FromHeader:
		return u.Headers && p.Text != "authorization"
	case key.FromCountry, key.FromASN, key.FromAPIKey: // headers bring them
		return u.Headers
	case key.FromQuery:
		return u.Query
	case key.FromPath:
		return u.PathParams
	}
	return u.operation && p.OfOperation()
}

// Read is a field that a rule reads.
type Read struct {
	key.Part
	Use string // "key", "cost" or "plan"
}

// Reads returns what a rule reads of the requests that it covers, each field
// once. A request without a field of the key shares its counter with others. One
// without a field of the cost pays the most.
func (s *Set) Reads(r *Rule) (all []Read) {
	add := func(use string, p key.Part) {
		if p.Kind != key.Literal && !slices.ContainsFunc(all, func(r Read) bool { return r.Part == p }) {
			all = append(all, Read{p, use})
		}
	}
	for _, p := range r.template.Parts {
		add("key", p)
	}
	for i := range r.Costs {
		add("cost", r.Costs[i].from)
	}
	if len(r.plans) > 0 {
		add("plan", s.plan.from)
	}
	return all
}
