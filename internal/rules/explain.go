package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// Why explains Matches: for a request that the rule does not match, the reason is
// the first field that does not hold. For one that it matches, the reason is
// empty, or says why unless did not exempt a request that differs from it only
// in letter case or in the form of its path.
func (r *Rule) Why(req *request.Request) (reason string, covered bool) {
	if r.Mode == Off {
		return "it is off", false
	}
	if left, ok := r.when.Explain(req, false); !ok {
		return left, false
	}
	if r.unless == nil {
		return "", true
	}
	reason, lifted := r.unless.Explain(req, true)
	switch {
	case lifted:
		return "unless: " + reason, false
	case r.unless.Covers(req):
		return "unless does not hold: " + reason, true
	}
	return "", true
}

// WhyAmbiguous explains Ambiguous: the reason names the parameter, what is wrong with
// the GraphQL query, or the part of the path that is ambiguous, and what decides.
func (s *Set) WhyAmbiguous(r *request.Request) (reason string, ambiguous bool) {
	if !s.Ambiguous(r) {
		return "", false
	}
	if parameter, by := s.ambiguousParameter(r); parameter != "" {
		return "query parameter " + match.Display(parameter) + ", by which rule " + by.Name + " counts, may be read in several ways", true
	}
	if s.ambiguousOperation(r) {
		return "the GraphQL query " + r.Operation.Ambiguous + ", and " + s.deniesOperation, true
	}
	return "path " + match.Display(r.Path) + " " + match.WhyAmbiguous(r.Derived().Ambiguity) + ", and ambiguous_paths is deny", true
}

// WhyBanned explains Banned: the reason is the entry of deny that matches, and
// the fields that do.
func (s *Set) WhyBanned(r *request.Request) (reason string, banned bool) {
	for i := range s.deny {
		if reason, covers := s.deny[i].Explain(r, false); covers {
			return fmt.Sprintf("deny[%d]: %s", i, reason), true
		}
	}
	return "", false
}

// WhySkipped explains Skipped. For a request that is not skipped, the reason is
// the first entry from which it differs only in letter case or in the form of
// its path; empty if there is none.
func (s *Set) WhySkipped(r *request.Request) (reason string, skipped bool) {
	for i := range s.skip {
		why, covers := s.skip[i].Explain(r, true)
		if covers {
			return fmt.Sprintf("skip[%d]: %s", i, why), true
		}
		if reason == "" && s.skip[i].Covers(r) {
			reason = fmt.Sprintf("skip[%d] does not cover it: %s", i, why)
		}
	}
	return reason, false
}

// WhyPlan explains Plan, as in "jwt.plan is pro". It is empty if the document has
// no plans.
func (s *Set) WhyPlan(r *request.Request) string {
	if s.plan.from.Kind == key.Literal {
		return ""
	}
	value := match.ShownValue(s.plan.from, r)
	if value != match.Missing && s.Plan(r) == "" {
		value += ", which is no plan"
	}
	return s.plan.from.String() + " is " + value
}
