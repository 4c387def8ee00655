package measure

import (
	"math"
	"slices"
)

// Median returns the middle of the numbers, or the mean of the two in the
// middle. It returns NaN for none.
func Median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 0:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[n/2]
}

// Percentile returns the smallest of the sorted numbers that at least p percent
// of them do not exceed. It returns 0 for none.
func Percentile(sorted []int64, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// summarise computes a subject's result from its turns, and from those of the
// bare operation in the same rounds.
func summarise(c *Case, subject string, turns, bare []turn) Result {
	r := Result{Case: c.ID, Group: c.Group, Title: c.Title, X: c.X, Subject: subject}
	time := (*turn).time
	if c.ByCPU {
		time = (*turn).cpuTime
	}
	each := func(value func(t *turn) float64) float64 { return Median(mapped(turns, value)) }
	ratios := func(value func(t *turn) float64) []float64 {
		var all []float64
		for i := range turns {
			if b := value(&bare[i]); b > 0 {
				all = append(all, value(&turns[i])/b)
			}
		}
		return all
	}
	times := ratios(time)
	if len(times) == 0 {
		times = []float64{0}
	}
	r.Time, r.Ratio, r.Low, r.High = each(time), Median(times), slices.Min(times), slices.Max(times)
	r.P99Rat, r.CPURat = orZero(Median(ratios((*turn).p99))), orZero(Median(ratios((*turn).cpuTime)))
	r.CPU, r.Allocs = each((*turn).cpuTime), each(func(t *turn) float64 { return float64(t.mallocs) / float64(t.decisions) })
	var sum turn
	for i := range turns {
		sum.add(&turns[i])
	}
	slices.Sort(sum.latencies)
	r.P50, r.P99 = float64(Percentile(sum.latencies, 50)), float64(Percentile(sum.latencies, 99))
	n := float64(sum.decisions)
	r.Server, r.Scripts = float64(sum.server)/n, float64(sum.scripts)/n
	r.Remote = sum.remote
	r.Calls, r.Reads, r.Writes = float64(sum.calls.Calls)/n, float64(sum.calls.Reads)/n, float64(sum.calls.Writes)/n
	r.Allowed, r.Failed = float64(sum.allowed)/n, float64(sum.failed)/n
	return r
}

// orZero replaces NaN, which JSON cannot hold.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func mapped(turns []turn, value func(t *turn) float64) []float64 {
	all := make([]float64, len(turns))
	for i := range turns {
		all[i] = value(&turns[i])
	}
	return all
}
