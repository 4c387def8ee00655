package lint

import (
	"slices"

	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// checkReach warns about a rule that limits nothing, because its selectors or
// skip leave out all that it covers, or because requests cost nothing. A rule
// of cost 0 with overrides may limit only their keys.
func (c *checker) checkReach(i int) {
	r, path := &c.doc.Rules[i], problem.Root("rules").At(i)
	if r.Unless != nil && coversAll(r.Unless, r.When) {
		c.warn(path.To("unless"), problem.LimitsNothing)
	}
	if j := slices.IndexFunc(c.author.Skip, func(s ruledoc.Selector) bool { return coversAll(&s, r.When) }); j >= 0 {
		c.warn(path, problem.SkippedWhole, problem.Root("skip").At(j))
	}
	costs := c.set.Rules[i].Costs
	if r.Overrides == nil && !slices.ContainsFunc(costs, func(cost rules.Cost) bool { return cost.Max > 0 }) {
		_, costAt := c.paths(i, 0)
		c.warn(costAt, problem.CostsNothing)
	}
}

// coversAll reports whether a selector plainly matches every request that
// another matches; nil matches all. Patterns and networks count if they are
// equal, or if they match everything.
func coversAll(s, other *ruledoc.Selector) bool {
	if other == nil {
		other = &ruledoc.Selector{}
	}
	all := func(words, others []string, everything ...string) bool {
		return len(words) == 0 || containsAll(words, everything) || len(others) > 0 && containsAll(words, others)
	}
	for source, words := range s.Match {
		if !all(words, other.Match[source]) {
			return false
		}
	}
	return all(s.Methods, other.Methods) && all(s.Route, other.Route, "/**") && all(s.Path, other.Path, "/**") &&
		all(s.CIDRs, other.CIDRs, "0.0.0.0/0", "::/0") && all(s.Caller, other.Caller, request.Anonymous, request.Known, request.Rejected)
}

func containsAll(list, words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(list, w) })
}
