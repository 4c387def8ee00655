package rules

import (
	"fmt"
	"slices"
	"strings"
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
	t := s.plan.overrides
	if r, ok := s.Rule(rule); ok {
		t = r.overridable
	}
	return t.text()
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

// KeyFor returns the key by which the rule counts, from one that a person typed: with values as they are, or as replays and
// logs print it.
func (r *Rule) KeyFor(text string) (key string, err error) {
	key, err = r.template.read(text, r.template.pattern("(.+?)"), r.template.pattern("(.+)"))
	if err != nil {
		return "", fmt.Errorf("%q is no key of rule %s, whose keys look like %s: %w", text, r.Name, r.Key, err)
	}
	return key, nil
}

// OverrideKeyOf returns the key by which overrides of one of the rule's own keys are found. It is ok where the one can be
// read out of the other: not where the rule has no overrides, nor where their keys hold more than the rule's.
func (r *Rule) OverrideKeyOf(key string) (overrideKey string, ok bool) {
	switch {
	case r.overridable == nil || r.Fits(key) != nil:
		return "", false
	case slices.Equal(r.overridable.parts, r.template.parts):
		return key, true
	case len(key) == MaxKey:
		return "", false // it is hashed
	}
	values := r.template.values(key)
	var dst []byte
	for _, p := range r.overridable.parts {
		value, ok := values[p]
		if p.source == literal {
			value, ok = p.text, true
		}
		if !ok {
			return "", false
		}
		dst = append(dst, value...)
	}
	return string(bounded(dst, 0)), true
}

// values reads a key that fits the template apart. Values are as keys have them, escaped.
func (t *template) values(key string) map[part]string {
	values := map[part]string{}
	for _, p := range t.parts {
		n := len(p.text)
		if p.source != literal {
			if n = strings.IndexAny(key, ":|"); n < 0 {
				n = len(key)
			}
			values[p] = key[:n]
		}
		key = key[n:]
	}
	return values
}
