package main

import (
	"math"
	"slices"
)

// result is a subject in a test. Times are in nanoseconds for one decision, and
// ratios to the bare operation: medians of the rounds.
type result struct {
	wall, cpu, wallRatio, cpuRatio, p99Ratio float64
	allocs, calls, writes, failed            float64 // for one decision
	size                                     float64 // in bytes
}

// summarise computes a subject's result from its turns, and from those of the
// bare operation in the same rounds.
func summarise(turns, bare []turn) (r result) {
	wall := func(t turn) float64 { return float64(t.wall) / float64(t.decisions) }
	cpu := func(t turn) float64 { return float64(t.cpu) / float64(t.decisions) }
	each := func(value func(t turn) float64) (mid, ratio float64) {
		var values, ratios []float64
		for i := range turns {
			values = append(values, value(turns[i]))
			ratios = append(ratios, value(turns[i])/value(bare[i]))
		}
		return median(values), median(ratios)
	}
	r.wall, r.wallRatio = each(wall)
	r.cpu, r.cpuRatio = each(cpu)
	_, r.p99Ratio = each(func(t turn) float64 { return p99(t.latencies) })
	r.allocs, _ = each(func(t turn) float64 { return float64(t.mallocs) / float64(t.decisions) })
	var sum turn
	for _, t := range turns {
		sum.add(t)
		sum.roundTrips, sum.writes = sum.roundTrips+t.roundTrips, sum.writes+t.writes
	}
	n := float64(sum.decisions)
	r.calls, r.writes = float64(sum.roundTrips)/n, float64(sum.writes)/n
	r.failed = float64(sum.failed) / n
	return r
}

// median returns the middle of the numbers, or the higher of the two in the
// middle.
func median(numbers []float64) float64 { return slices.Sorted(slices.Values(numbers))[len(numbers)/2] }

// p99 returns the smallest number that 99% do not exceed; NaN for none.
func p99(numbers []int64) float64 {
	if len(numbers) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(numbers))
	return float64(sorted[(len(sorted)*99+99)/100-1])
}
