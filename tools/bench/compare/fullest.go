package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// patterns are ways to send requests: when, if time 0 is a multiple of the
// window.
var patterns = []func(q quota) []time.Duration{
	// Twice the limit, evenly.
	func(q quota) []time.Duration {
		return burst(nil, 0, 6*q.capacity, q.window/time.Duration(2*q.capacity))
	},
	// All at the end of each of three windows.
	func(q quota) (all []time.Duration) {
		for end := q.window; end <= 3*q.window; end += q.window {
			all = burst(all, end-q.window/20, 2*q.capacity, 0)
		}
		return all
	},
	edge,
	// Some windows start with the first request.
	func(q quota) []time.Duration { return append([]time.Duration{0}, edge(q)...) },
	func(q quota) (all []time.Duration) {
		random := rand.New(rand.NewPCG(1, 2))
		for at := time.Duration(0); at < 4*q.window; at += time.Duration(random.Int64N(int64(q.window / 2))) {
			all = burst(all, at, 1+random.Int64N(q.capacity), 0)
		}
		return all
	},
}

// edge is two bursts around an edge of windows.
func edge(q quota) []time.Duration {
	return burst(burst(nil, q.window-q.window/20, q.capacity, 0), q.window+q.window/20, q.capacity, 0)
}

// burst appends n times from a time on.
func burst(all []time.Duration, from time.Duration, n int64, every time.Duration) []time.Duration {
	for i := range n {
		all = append(all, from+time.Duration(i)*every)
	}
	return all
}

// fullest measures the admissions in the fullest window ÷ the capacity, of as
// many subjects at once.
func fullest(subjects []subject, capacity int64, parallel int) func(context.Context) (map[string]result, error) {
	return func(ctx context.Context) (map[string]result, error) {
		worst, results := make([]float64, len(subjects)), map[string]result{}
		var all errgroup.Group
		all.SetLimit(parallel)
		for i, s := range subjects {
			all.Go(func() (err error) {
				worst[i], err = s.fullest(ctx, quota{capacity, time.Second})
				return err
			})
		}
		err := all.Wait()
		for i, s := range subjects {
			results[s.name] = result{size: worst[i]}
		}
		return results, err
	}
}

// fullest sends every pattern, each by a key of its own and all at the same
// time. It returns the admissions in the fullest window ÷ the capacity.
func (s *subject) fullest(ctx context.Context, q quota) (worst float64, err error) {
	l, err := s.open(ctx, q)
	if err != nil {
		return 0, err
	}
	defer l.shut()
	admitted := make([]int, len(patterns))
	all, ctx := errgroup.WithContext(ctx)
	for i, times := range patterns {
		all.Go(func() (err error) {
			admitted[i], err = l.send(ctx, fmt.Sprintf("fullest:%d", serial.Add(1)), q.window, times(q))
			return err
		})
	}
	err = all.Wait()
	for _, n := range admitted {
		worst = max(worst, float64(n)/float64(q.capacity))
	}
	return worst, err
}

// send sends requests at their times, and returns the admissions in the fullest
// window.
func (l *limiter) send(ctx context.Context, key string, window time.Duration, times []time.Duration) (int, error) {
	start := time.Now().Truncate(window).Add(window)
	var admitted []span
	for _, at := range times {
		time.Sleep(time.Until(start.Add(at)))
		sent := time.Now()
		allowed, err := l.decide(ctx, key)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if allowed && err == nil { // a limiter that fails has not admitted
			admitted = append(admitted, span{sent, time.Now()})
		}
	}
	return most(admitted, window), nil
}

// span is the time in which a decision was made.
type span struct{ sent, answered time.Time }

// most returns how many decisions certainly lie in one window: the first was
// sent, and the last answered, within it. A slow machine makes it smaller, and
// never larger than what was admitted.
func most(admitted []span, window time.Duration) (n int) {
	first := 0
	for i, last := range admitted {
		for first < i && last.answered.Sub(admitted[first].sent) >= window {
			first++
		}
		n = max(n, i+1-first)
	}
	return n
}
