package lint

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slidegate/slidegate/internal/request/urlpath"
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
// list with the words of both.
func overlapConditions(a, b []match.Condition) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Part == y.Part && x.Part.Kind != key.FromClaim && !overlapWords(x.Words, y.Words) {
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
