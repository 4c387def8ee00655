package rules

import (
	"net/netip"
	"slices"
	"strings"
)

// maxComparisons bounds the time that warnings take: patterns and networks are compared by the pair, and there may be many.
const maxComparisons = 1 << 20

// overlap tells which rules may cover the same request. It errs on the side of may, by parts of patterns that it does not
// look at. Once it is spent its answers mean nothing.
type overlap struct{ comparisons int }

// spent reports whether it has made all its comparisons, and would need more.
func (o *overlap) spent() bool { return o.comparisons > maxComparisons }

func (o *overlap) rules(a, b *Rule) bool {
	return overlapCallers(a.when.callers, b.when.callers) && overlapWords(a.when.methods, b.when.methods) &&
		overlapConditions(a.when.match, b.when.match) && o.networks(a.when.cidrs, b.when.cidrs) &&
		o.globs(a.when.routes, b.when.routes) && o.globs(a.when.paths, b.when.paths)
}

func overlapCallers(a, b caller) bool { return a == 0 || b == 0 || a&b != 0 }

func overlapWords(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}

// overlapConditions looks at what has one value alone: a claim may be a list, and hold the words of both.
func overlapConditions(a, b []condition) bool {
	for _, x := range a {
		for _, y := range b {
			if x.part == y.part && x.part.source != fromClaim && !overlapWords(x.words, y.words) {
				return false
			}
		}
	}
	return true
}

func (o *overlap) networks(a, b []netip.Prefix) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for i := range a {
		for j := range b {
			if o.comparisons++; o.spent() || a[i].Overlaps(b[j]) {
				return true
			}
		}
	}
	return false
}

func (o *overlap) globs(a, b []glob) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	for i := range a {
		for j := range b {
			if o.comparisons++; o.spent() || overlapSegments(a[i].segments, b[j].segments) {
				return true
			}
		}
	}
	return false
}

// overlapSegments looks at the segments before the first ** of either pattern, and after the last: those have their place.
func overlapSegments(a, b []string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] != anyDepth && b[0] != anyDepth {
		if !overlapStars(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] != anyDepth && b[len(b)-1] != anyDepth {
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
	return true // a ** is left, which may cover whatever is between
}

// isDeep reports whether the segments may stand for none at all.
func isDeep(segments []string) bool {
	return !slices.ContainsFunc(segments, func(s string) bool { return s != anyDepth })
}

// overlapStars looks at what two segments have before their first star and after their last.
func overlapStars(a, b string) bool {
	aHead, aTail, aStars := ends(a)
	bHead, bTail, bStars := ends(b)
	if !isASCII(a) || !isASCII(b) {
		return true // the cases of a letter may differ in length
	}
	if !aStars && !bStars {
		return strings.EqualFold(a, b)
	}
	n, m := min(len(aHead), len(bHead)), min(len(aTail), len(bTail))
	return strings.EqualFold(aHead[:n], bHead[:n]) && strings.EqualFold(aTail[len(aTail)-m:], bTail[len(bTail)-m:])
}

// ends returns what comes before the first star of a segment and after the last: all of it, where there is none.
func ends(s string) (head, tail string, stars bool) {
	i := strings.IndexByte(s, '*')
	if i < 0 {
		return s, s, false
	}
	return s[:i], s[strings.LastIndexByte(s, '*')+1:], true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
