package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// The functions below decide what fits a limit or a rule. The compiler asks them
// about documents, and Set.CheckOverride about overrides of tables.

// tooHigh reports that the limit could never allow the least that a request pays.
func (c *Cost) tooHigh(l *limit.Limit) (wrong problem.Fault) {
	if !c.unpayable(l.MaxCost()) {
		return wrong
	}
	return problem.New(problem.UnpayableCost, c.Min, SizeField(l.Algorithm), l.MaxCost())
}

// adjusted returns a limit of the rule with another capacity. The burst of a
// bucket changes too if it follows the capacity. A fault says why there can be
// no such limit.
func (r *Rule) adjusted(name string, units int64) (i int, l limit.Limit, wrong problem.Fault) {
	if i = limitNamed(r.Limits, name); i < 0 {
		return i, l, r.noLimit(r.Limits, name)
	}
	l = withCapacity(r.Limits[i], units)
	if _, wrong = uncountable(&l); !wrong.Found() {
		wrong = r.Costs[i].tooHigh(&l)
	}
	return i, l, wrong
}

// noLimit says what to write in place of an unknown limit: limits are those of
// the rule or of one of its overrides.
func (r *Rule) noLimit(limits []limit.Limit, name string) problem.Fault {
	var known []string
	for i := range limits {
		known = append(known, limits[i].Name)
	}
	switch {
	case name == "":
		return problem.New(problem.Instead, "rule "+r.Name+" has several limits",
			fmt.Sprintf("a capacity for each by name, such as {%s: %d}", known[0], limits[0].Capacity))
	case len(known) == 1 && known[0] == "":
		return problem.New(problem.Instead, "rule "+r.Name+" has one limit, without a name", "the capacity alone")
	}
	return problem.New(problem.Unknown, fmt.Sprintf("rule %s has no limit %q", r.Name, name), ruledoc.Suggest(name, known, "there are", "and"))
}

// noRule says what to write in place of an unknown rule.
func (s *Set) noRule(name string) problem.Fault {
	var known []string
	for _, r := range s.Rules {
		if r.Name != "" { // a rule without a name is a problem of its own
			known = append(known, r.Name)
		}
	}
	instead := "there are no others"
	if meant := ruledoc.Closest(name, known); meant != "" {
		instead = "did you mean " + meant + "?"
	} else if len(known) > 0 {
		instead = "the rules are " + match.ShortList(known)
	}
	return problem.New(problem.Unknown, fmt.Sprintf("there is no rule %q", name), instead)
}

// highest returns the highest capacity that limit i has without overrides, on any
// plan. An override up to it restricts some callers; of others, Terms keeps the
// lower capacity.
func (r *Rule) highest(i int) int64 {
	most := r.Limits[i].Capacity
	for _, p := range r.plans {
		if p.Unlimited {
			return limit.MaxCapacity
		}
		most = max(most, p.Limits[i].Capacity)
	}
	return most
}

// restricted says why an override of a rule whose keys the client fills in
// cannot loosen it.
func (r *Rule) restricted(why string) problem.Fault {
	sources := r.overridable.ClientSources
	return problem.New(problem.RestrictedBy, why, ruledoc.Enumerate(sources, "and"), key.WithoutBraces.Replace(strings.Join(sources, ", ")))
}

// limitFault checks a limit of an override with the rule's refunds and costs.
func (r *Rule) limitFault(l *limit.Limit, c *Cost) problem.Fault {
	cost := r.inherit(*c, l.Name)
	switch {
	case len(r.refunds) > 0 && !l.Correctable():
		return problem.New(problem.Instead, fmt.Sprintf("the rule has refund_on, and a %s cannot refund", l.Algorithm),
			"algorithm: sliding_window")
	case cost.Settle && !l.Correctable():
		return problem.New(problem.Instead, fmt.Sprintf("the rule's cost settles, and a %s cannot be corrected afterwards", l.Algorithm),
			"algorithm: sliding_window, or a cost of its own")
	}
	return cost.tooHigh(l)
}

// planFault says why callers cannot have a plan by an override.
func (s *Set) planFault(plan string) (wrong problem.Fault) {
	switch {
	case plan == "" || slices.Contains(s.plans, plan):
		return wrong
	case len(s.plans) == 0:
		return problem.New(problem.Instead, "there are no plans", "plans: {"+plan+": {RULE: CAPACITY}}")
	}
	return problem.New(problem.Unknown, fmt.Sprintf("there is no plan %q", plan), ruledoc.Suggest(plan, s.plans, "there are", "and"))
}

// capacityPath returns the path of a limit's capacity; "" names a rule's only limit.
func capacityPath(path problem.Path, limit string) problem.Path {
	if limit == "" {
		return path
	}
	return path.To(limit)
}
