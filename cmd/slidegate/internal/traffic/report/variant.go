package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// Variant is the rules with other limits.
type Variant struct {
	Name string
	Set  *rules.Set // nil if they do not compile
	Why  string     // the first reason; empty with a Set
}

// AsItIs is the name of the rules themselves among the scenarios.
const AsItIs = "the limits as they are"

// Variants returns the rules with half and with twice the limit, then by each
// other algorithm. Each changes all rules with one limit at once, and their
// capacities by plan; other rules and all overrides stay. There are none
// without a rule of one limit.
func Variants(set *rules.Set) []Variant {
	var single []*rules.Rule
	for _, r := range set.Rules {
		if r.Mode != rules.Off && len(r.Limits) == 1 && rules.InFlight(r.Limits) < 0 {
			single = append(single, r)
		}
	}
	if len(single) == 0 {
		return nil
	}
	all := []Variant{
		variant(set, "half the limits", func(l *ruledoc.Limit) { scale(l, 0.5) }, 0.5),
		variant(set, "twice the limits", func(l *ruledoc.Limit) { scale(l, 2) }, 2),
	}
	for i, name := range limit.Algorithms() {
		if slices.ContainsFunc(single, func(r *rules.Rule) bool { return r.Limits[0].Algorithm != limit.Algorithm(i) }) {
			all = append(all, variant(set, name, func(l *ruledoc.Limit) { convert(l, name) }, 1))
		}
	}
	return all
}

// variant compiles the set's document with another limit in each rule that has
// one.
func variant(set *rules.Set, name string, change func(*ruledoc.Limit), times float64) Variant {
	doc := ruledoc.Normalize(set.Document()) // a copy
	for i := range doc.Rules {
		r := &doc.Rules[i]
		for j := range r.Limits {
			r.Limits[j].Candidate = nil
		}
		if len(r.Limits) != 1 {
			continue
		}
		change(&r.Limits[0])
		for _, plan := range doc.Plans {
			for limit, capacity := range plan[r.Name].Capacity {
				plan[r.Name].Capacity[limit] = multiply(capacity, times)
			}
		}
	}
	compiled, problems := rules.Compile(doc)
	if len(problems) > 0 {
		return Variant{Name: name, Why: fmt.Sprint(problems[0])}
	}
	compiled.WithoutPlaces()
	return Variant{Name: name, Set: compiled}
}

func scale(l *ruledoc.Limit, times float64) {
	l.Capacity, l.Burst, l.Queue = multiply(l.Capacity, times), multiply(l.Burst, times), multiply(l.Queue, times)
}

// multiply rounds to a whole number of at least 1. 0 stays: it states nothing.
func multiply(n int64, times float64) int64 {
	if n == 0 {
		return 0
	}
	return min(max(1, int64(math.Round(float64(n)*times))), limit.MaxCapacity)
}

// convert gives a limit another algorithm with the defaults of that.
func convert(l *ruledoc.Limit, algorithm string) {
	if l.IsInFlight() || l.Algorithm == algorithm || l.Algorithm == "" && algorithm == limit.SlidingWindow.String() {
		return
	}
	l.Algorithm, l.Burst, l.Queue, l.Granularity = algorithm, 0, 0, ""
}
