package main

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	capacity = 100
	window   = time.Minute
	end      = 140 * time.Second
)

// limits are 100 requests a minute by each algorithm, with the defaults of a
// rules file.
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

// offered returns the traffic: 100 requests in the last second of a window and
// 100 in the first second of the next. Then five requests a second follow,
// three times the limit.
func offered() (requests []time.Duration) {
	for t := window - time.Second; t < window+time.Second; t += 10 * time.Millisecond {
		requests = append(requests, t)
	}
	for t := window + time.Second; t < end; t += 200 * time.Millisecond {
		requests = append(requests, t)
	}
	return requests
}

// burst returns the times at which admitted requests pass, in ascending order.
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
