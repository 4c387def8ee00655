package rules

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// PlanOverrides is the name for overrides of callers' plans, where overrides of
// a rule have the name of the rule.
const PlanOverrides = ruledoc.PlanOverrides

// Override is what an operator has set for one exact key: of a rule, or of a
// caller's plan. The zero value changes nothing. It is read-only.
type Override struct {
	Deny      bool             // refuse every request of the key
	Unlimited bool             // the rule does not limit the key
	Plan      string           // the caller's plan; only among PlanOverrides
	Capacity  map[string]int64 // by limit name, "" for a rule's only limit
	Limits    []limit.Limit    // replace all of the rule's, sorted by name; nil to keep them
	Costs     []Cost           // of Limits, one each
	Until     time.Time        // when all of the above ends; the zero Time for never
	Why       string           // in messages

	suffix string // of counters with Limits

	Grants []Grant // on top of the capacities above, or of those of the rule or plan
}

// Grant raises a capacity for a time.
type Grant struct {
	Limit string    // its name, "" for a rule's only limit
	Add   int64     // units, above 0
	Until time.Time // when it ends
	From  time.Time // when it was given; for replays only, because clocks of limiters may be late
}

// InForce reports whether the override changes anything at a moment, its grants
// aside.
func (o *Override) InForce(now time.Time) bool {
	if o == nil || !o.Until.IsZero() && !now.Before(o.Until) {
		return false
	}
	return o.Deny || o.Unlimited || o.Plan != "" || len(o.Capacity) > 0 || o.Limits != nil
}

// everything covers every request.
var everything match.Selector

// AppendPlanKey appends the key of the overrides of plans; ok is false if there
// are none.
func (s *Set) AppendPlanKey(dst []byte, req *request.Request) (key []byte, ok bool) {
	return appendKey(dst, s.plan.overrides, req, &everything)
}

// AppendOverrideKey appends the key of the rule's overrides; ok is false if it
// has none. The rule must match the request.
func (r *Rule) AppendOverrideKey(dst []byte, req *request.Request) (key []byte, ok bool) {
	return appendKey(dst, r.overridable, req, &r.when)
}

// OverridesByKey reports whether the keys of the rule's overrides are those that
// it counts by.
func (r *Rule) OverridesByKey() bool { return r.overridable == &r.template }

// TakesOverrides reports whether the rule may have overrides outside the
// document, which callers must look up in the table.
func (r *Rule) TakesOverrides() bool { return r.overridable != nil && !r.documentOnly }

// Override returns the document's own override of a key; nil for none. rule may
// be PlanOverrides.
func (s *Set) Override(rule, key string) *Override {
	if s.hashed != nil {
		hashed, _ := s.hashed() // LoadHashSecret reports the error
		if of, ok := hashed[rule]; ok {
			return of[key]
		}
	}
	return s.overrides[rule][key]
}

// Overlay returns the effective override of a key. An override that an operator
// has set, nil for none, takes precedence over the document's. Of one that has
// ended, the grants remain.
func (s *Set) Overlay(rule, key string, stored *Override, now time.Time) *Override {
	written := s.Override(rule, key)
	switch {
	case stored == nil:
		return written
	case written != nil && !stored.InForce(now):
		both := *written
		both.Grants = stored.Grants
		return &both
	}
	return stored
}

// OverrideKeys returns the key template of a rule's overrides, or of
// PlanOverrides; "" for none.
func (s *Set) OverrideKeys(rule string) string {
	return s.overrideKeys(rule).String()
}

// OverridesHashed reports whether the overrides of a rule, or of PlanOverrides,
// are found by hashes of their keys.
func (s *Set) OverridesHashed(rule string) bool {
	t := s.overrideKeys(rule)
	return t != nil && t.Hash != nil
}

// overrideKeys returns the key template of overrides; nil for none.
func (s *Set) overrideKeys(rule string) *key.Template {
	if rule == PlanOverrides {
		return s.plan.overrides
	}
	if r, ok := s.Rule(rule); ok {
		return r.overridable
	}
	return nil
}

// planSource says how to find the plan of a caller.
type planSource struct {
	from      key.Part      // trusted; a literal if the document has no plans
	overrides *key.Template // of the keys of plan overrides; nil for none
}

// Plan returns the plan that the request's token or API key names: "" for none,
// and for a plan that the document does not know.
func (s *Set) Plan(req *request.Request) string {
	name, _ := s.plan.from.Value(req) // "" of the zero Part
	return s.knownPlan(name)
}

// knownPlan returns the name of a plan; "" if the document has no such plan.
func (s *Set) knownPlan(name string) string {
	if slices.Contains(s.plans, name) {
		return name
	}
	return ""
}

// ResolvePlan returns the plan of a caller, and whether an override denies all
// its requests. o is the plan override of the caller, nil for none. An override
// to a plan that the document does not have leaves the caller without a plan.
// stale reports that a part of the override no longer fits and was ignored.
func (s *Set) ResolvePlan(req *request.Request, o *Override, inForce bool) (plan string, denied, stale bool) {
	switch {
	case !inForce:
		return s.Plan(req), false, false
	case o.Deny:
		return "", true, false
	case o.Plan == "":
		return s.Plan(req), false, true
	}
	plan = s.knownPlan(o.Plan)
	return plan, false, plan == ""
}

// Plans returns the names of the document's plans, in order.
func (s *Set) Plans() []string { return slices.Clone(s.plans) }
