package main

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	capacity = 100
	window   = time.Minute
	end      = 3 * window
)

// limits are 100 requests a minute by each algorithm, as a rule file that says no more would have them.
func limits() []limit.Limit {
	all := make([]limit.Limit, len(limit.Algorithms()))
	for i := range all {
		l := limit.Limit{Algorithm: limit.Algorithm(i), Capacity: capacity, Window: window, Granularity: window}
		switch l.Algorithm {
		case limit.SlidingWindow:
			l.Granularity = time.Second
		case limit.SlidingWindowLog:
			l.Granularity = limit.Exact
		case limit.TokenBucket, limit.LeakyBucket:
			l.Granularity, l.Burst = 0, capacity
		}
		all[i] = l
	}
	return all
}

// offered is the traffic: 100 requests in the last second of a window, 100 in the first of the next, and from then on five
// a second, three times what the limit lets through.
func offered() (requests []time.Duration) {
	for t := window - time.Second; t < window+time.Second; t += 10 * time.Millisecond {
		requests = append(requests, t)
	}
	for t := window + time.Second; t < end; t += 200 * time.Millisecond {
		requests = append(requests, t)
	}
	return requests
}

// burst returns when the requests that the limit admits are passed on, in ascending order.
func burst(l *limit.Limit) (passed []time.Duration) {
	start := time.Unix(0, 0)
	var state limit.State
	for _, t := range offered() {
		now := start.Add(t)
		if got := state.Decide(l, now, 1); got.Allowed {
			state.Take(l, now, 1)
			passed = append(passed, t+got.Delay)
		}
	}
	slices.Sort(passed)
	return passed
}

// trailing returns how many were passed on in the window that ends with each moment of passed.
func trailing(passed []time.Duration) []int {
	counts := make([]int, len(passed))
	first := 0
	for i, t := range passed {
		for passed[first] <= t-window {
			first++
		}
		counts[i] = i - first + 1
	}
	return counts
}
