package rules

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// PlanSource names where requests say which plan their caller has, such as "jwt.plan"; "" where they do not.
func (s *Set) PlanSource() string {
	if s.plan.from.source == literal {
		return ""
	}
	return s.plan.from.spell()
}

// Plans returns the names of the document's plans, in order.
func (s *Set) Plans() []string { return slices.Sorted(slices.Values(s.plans)) }

// PlanLimits returns what a plan makes of the rule; ok is false where it leaves the rule as it is. Of an unlimited one there
// are no limits.
func (r *Rule) PlanLimits(plan string) (limits []limit.Limit, ok bool) {
	p := r.plans[plan]
	switch {
	case p == nil:
		return nil, false
	case p.unlimited:
		return nil, true
	}
	return p.limits, true
}

// String writes the candidate as documents do, such as "80%"; it is empty for none.
func (c Candidate) String() string { return c.text() }

// Overrides returns how many overrides of a rule, or of PlanOverrides, the document itself holds.
func (s *Set) Overrides(rule string) int { return len(s.overrides[rule]) }

// Stated says where a request states its cost, such as "header.x-tokens", and between what bounds it is taken; ok is false
// for a cost that is fixed.
func (c *Cost) Stated() (source string, least, most int64, ok bool) {
	if c.from.source == literal {
		return "", 0, 0, false
	}
	return c.from.spell(), c.min, c.max, true
}

// Overlay returns what decides of a key: said, an operator's word by command (nil for none), before the document's. What is
// left of a word that has ended are its grants.
func (s *Set) Overlay(rule, key string, said *Override, now time.Time) *Override {
	written := s.Override(rule, key)
	switch {
	case said == nil:
		return written
	case written != nil && !said.InForce(now):
		both := *written
		both.Grants = said.Grants
		return &both
	}
	return said
}

// OverrideKeys returns the template of the keys of a rule's overrides, or of PlanOverrides; "" where there are none.
func (s *Set) OverrideKeys(rule string) string {
	return s.overrideKeys(rule).text()
}

// OverridesHashed reports whether the overrides of a rule, or of PlanOverrides, are found by hashes of their keys.
func (s *Set) OverridesHashed(rule string) bool {
	t := s.overrideKeys(rule)
	return t != nil && t.hash != nil
}

// overrideKeys returns the template of the keys of overrides; nil where there are none.
func (s *Set) overrideKeys(rule string) *template {
	if rule == PlanOverrides {
		return s.plan.overrides
	}
	if r, ok := s.Rule(rule); ok {
		return r.overridable
	}
	return nil
}

// RefundsOn returns the statuses that give back what the rule took, as documents write them: "404", "5xx", "500-503".
func (r *Rule) RefundsOn() (texts []string) {
	for _, s := range r.refunds {
		texts = append(texts, s.text())
	}
	return texts
}

// AnchorFrom names where a request says on which day the months of limit i begin; "" where the rule does.
func (r *Rule) AnchorFrom(i int) string {
	for _, a := range r.anchors {
		if a.limit == i {
			return a.from.spell()
		}
	}
	return ""
}
