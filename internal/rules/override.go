package rules

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
)

// PlanOverrides is the name for overrides of callers' plans, where overrides of
// a rule have the name of the rule.
const PlanOverrides = ruledoc.PlanOverrides

// Override is what an operator has said of one exact key: of a rule, or of the plan that a caller has. The zero value
// changes nothing. It is read-only.
type Override struct {
	Deny      bool             // refuse every request of the key
	Unlimited bool             // the rule does not limit the key
	Plan      string           // the caller's plan; only among PlanOverrides
	Capacity  map[string]int64 // by the limit's name, "" for a rule's only limit: the rest of the limit stays as it is
	Limits    []limit.Limit    // in the place of all of the rule's, in the order of their names; nil to keep them
	Costs     []Cost           // of Limits, one each
	Until     time.Time        // when all of the above ends by itself; the zero Time for never
	Why       string           // for people

	suffix string // of counters with Limits

	Grants []Grant // on top of what is said above, or of what the rule or the plan says
}

// Grant raises a capacity for a time.
type Grant struct {
	Limit string    // its name, "" for a rule's only limit
	Add   int64     // units, above 0
	Until time.Time // when it ends
	From  time.Time // when it was given, for replays: limiters, whose clocks may be late, do not wait for it
}

// InForce reports whether the override says anything at a moment, its grants aside.
func (o *Override) InForce(now time.Time) bool {
	if o == nil || !o.Until.IsZero() && !now.Before(o.Until) {
		return false
	}
	return o.Deny || o.Unlimited || o.Plan != "" || len(o.Capacity) > 0 || o.Limits != nil
}

// AppendPlanKey appends the key by which overrides of plans are found; ok is false where there are none.
func (s *Set) AppendPlanKey(dst []byte, req *Request) (key []byte, ok bool) {
	if s.plan.overrides == nil {
		return dst, false
	}
	return s.plan.overrides.key(dst, req, &selector{}), true
}

// AppendOverrideKey appends the key by which the rule's overrides are found; ok is false where it has none. The request
// must be one that the rule matches.
func (r *Rule) AppendOverrideKey(dst []byte, req *Request) (key []byte, ok bool) {
	if r.overridable == nil {
		return dst, false
	}
	return r.overridable.key(dst, req, &r.when), true
}

// TakesOverrides reports whether the rule says that it has overrides besides those of the document: only then is there
// anything to look up elsewhere.
func (r *Rule) TakesOverrides() bool { return r.overridable != nil && !r.documentOnly }

// Override returns what the document itself says of a key; nil for nothing. rule may be PlanOverrides.
func (s *Set) Override(rule, key string) *Override {
	if s.hashed != nil {
		if hashed, ok := s.hashed()[rule]; ok {
			return hashed[key]
		}
	}
	return s.overrides[rule][key]
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

// Overrides returns how many overrides of a rule, or of PlanOverrides, the document itself holds.
func (s *Set) Overrides(rule string) int { return len(s.overrides[rule]) }

// planSource says how to find out which plan a caller has.
type planSource struct {
	from      part      // trusted; a literal if the document has no plans
	overrides *template // of the keys of plan overrides; nil for none
}

// Plan returns the plan that the request's token or API key names: "" for none,
// and for a plan that the document does not know.
func (s *Set) Plan(req *Request) string {
	if s.plan.from.source == literal {
		return ""
	}
	name, _ := s.plan.from.only(req)
	return s.knownPlan(name)
}

// knownPlan returns the name of a plan; "" if the document has no such plan.
func (s *Set) knownPlan(name string) string {
	for _, known := range s.plans {
		if known == name {
			return name
		}
	}
	return ""
}

// ResolvePlan returns the plan of a caller, and whether an override denies all
// its requests. o is the plan override of the caller, nil for none. An override
// to a plan that the document does not have leaves the caller without a plan.
// stale reports that a part of the override no longer fits and was ignored.
func (s *Set) ResolvePlan(req *Request, o *Override, inForce bool) (plan string, denied, stale bool) {
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
