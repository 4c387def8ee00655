package lint

import (
	"slices"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// checkBeside warns about effects of other rules for the same requests on rule i.
// If there are too many patterns to compare, it warns about that instead.
func (c *checker) checkBeside(i int) {
	r, path := c.set.Rules[i], problem.Root("rules").At(i)
	before := len(c.warnings)
	if kept := keeps(r); kept != nil && r.Mode == rules.Enforce { // a rule in shadow is charged once nothing can deny any more
		if denier := c.deniesAfter(i); denier != nil {
			at := path.To("limits")
			if c.author.Rules[i].Limit != nil {
				at = path.To("limit")
			}
			c.warn(at, problem.NotRefunded, kept.Algorithm, denier.Name)
		}
	}
	if r.Atomic && c.partner(i, len(c.set.Rules)) < 0 {
		c.warn(path.To("atomic"), problem.AloneAtomic)
	}
	if c.near.spent() {
		c.warnings = c.warnings[:before]
		c.warn(path.To("key"), problem.TooManyPatterns)
	}
}

// keeps returns a limit of the rule that takes units and cannot refund them; nil
// for none.
func keeps(r *rules.Rule) *limit.Limit {
	for i := range r.Limits {
		if r.Costs[i].Max > 0 && !r.Limits[i].Correctable() {
			return &r.Limits[i]
		}
	}
	return nil
}

// deniesAfter returns a rule that may deny a request once rule i has charged it.
func (c *checker) deniesAfter(i int) *rules.Rule {
	r := c.set.Rules[i]
	for j := c.turn(i); j < len(c.set.Rules); j++ {
		other := c.set.Rules[j]
		denies := other.Enforced() && slices.ContainsFunc(other.Costs, func(c rules.Cost) bool { return c.Max > 0 })
		if denies && j != i && !(r.Atomic && other.Atomic) && c.overlap(i, j) {
			return other
		}
	}
	return nil
}

// turn returns the index of the rule at whose turn rule i is charged: an
// atomic rule is charged with the first of its group.
func (c *checker) turn(i int) int {
	if c.set.Rules[i].Atomic {
		if j := c.partner(i, i); j >= 0 {
			return j
		}
	}
	return i
}

// partner returns the first of some rules that is atomic and may be charged
// together with rule i; -1 for none.
func (c *checker) partner(i, rulesBefore int) int {
	for j, other := range c.set.Rules[:rulesBefore] {
		if j != i && other.Atomic && other.Mode == rules.Enforce && c.overlap(i, j) {
			return j
		}
	}
	return -1
}

// overlap reports whether two rules may cover the same request.
func (c *checker) overlap(i, j int) bool {
	return c.near.selectors(c.set.Rules[i].When(), c.set.Rules[j].When())
}
