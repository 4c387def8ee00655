package lint

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// maxComparisons bounds the time that warnings take: patterns and networks are
// compared in pairs, and there may be many.
const maxComparisons = 1 << 20

// overlap reports which selectors may match the same request. It may report
// selectors that do not, because it does not compare all parts of patterns. Once
// it is spent its answers mean nothing.
type overlap struct{ comparisons int }

// spent reports whether more comparisons were needed than are made.
func (o *overlap) spent() bool { return o.comparisons > maxComparisons }

func (o *overlap) selectors(a, b *match.Selector) bool {
	return overlapWords(a.Callers, b.Callers) && overlapWords(a.Methods, b.Methods) && overlapConditions(a.Match, b.Match) &&
		overlapAny(o, a.CIDRs, b.CIDRs, netip.Prefix.Overlaps) &&
		overlapAny(o, a.Routes, b.Routes, overlapPatterns) && overlapAny(o, a.Paths, b.Paths, overlapPatterns)
}

func overlapWords(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}

// overlapConditions compares sources that have only one value: a claim may be a
// list with the words of both, and an operation have the fields of both.
func overlapConditions(a, b []match.Condition) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Part == y.Part && x.Part.Kind != key.FromClaim && x.Part.Kind != key.FromRootFields && !overlapWords(x.Words, y.Words) {
				return false
			}
		}
	}
	return true
}

// overlapAny compares in pairs; an empty list overlaps anything.
func overlapAny[T any](o *overlap, a, b []T, overlaps func(T, T) bool) bool {
	for _, x := range a {
		for _, y := range b {
			if o.comparisons++; o.spent() || overlaps(x, y) {
				return true
			}
		}
	}
	return len(a) == 0 || len(b) == 0
}

// overlapPatterns compares the segments before the first ** of either pattern and
// after the last.
func overlapPatterns(p, q match.Pattern) bool {
	a, b := p.Segments(), q.Segments()
	for len(a) > 0 && len(b) > 0 && a[0] != urlpath.AnyDepth && b[0] != urlpath.AnyDepth {
		if !overlapStars(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] != urlpath.AnyDepth && b[len(b)-1] != urlpath.AnyDepth {
		if !overlapStars(a[len(a)-1], b[len(b)-1]) {
			return false
		}
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	switch {
	case len(a) == 0:
		return isDeep(b)
	case len(b) == 0:
		return isDeep(a)
	}
	return true // a ** is left, which may match all between
}

// isDeep reports whether the segments match an empty path.
func isDeep(s []string) bool {
	return !slices.ContainsFunc(s, func(segment string) bool { return segment != urlpath.AnyDepth })
}

// overlapStars compares the text of two segments before their first star and after
// their last.
func overlapStars(a, b string) bool {
	if strings.ContainsFunc(a+b, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return true // the cases of a letter may differ in length
	}
	if !strings.Contains(a+b, "*") {
		return strings.EqualFold(a, b)
	}
	aHead, _, _ := strings.Cut(a, "*")
	bHead, _, _ := strings.Cut(b, "*")
	aTail, bTail := a[strings.LastIndexByte(a, '*')+1:], b[strings.LastIndexByte(b, '*')+1:]
	n, m := min(len(aHead), len(bHead)), min(len(aTail), len(bTail))
	return strings.EqualFold(aHead[:n], bHead[:n]) && strings.EqualFold(aTail[len(aTail)-m:], bTail[len(bTail)-m:])
}

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
// for none. A place in flight is given back.
func keeps(r *rules.Rule) *limit.Limit {
	for i := range r.Limits {
		if r.Costs[i].Max > 0 && !r.Limits[i].Correctable() && r.Limits[i].Algorithm != limit.InFlight {
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
