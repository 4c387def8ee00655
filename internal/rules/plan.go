package rules

import "slices"

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
