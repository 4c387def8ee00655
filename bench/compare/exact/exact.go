// Package exact measures how much a limiter admits in its fullest window, by
// the true times of the decisions.
package exact

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slidegate/slidegate/bench/compare/measure"
)

// Result is what a subject admitted.
type Result struct {
	Store   string `json:"store"`
	Subject string `json:"subject"`
	// Fullest has the admissions in the fullest window ÷ the capacity, for each
	// of the patterns.
	Fullest []float64 `json:"fullest"`
}

// Worst returns the largest of them.
func (r *Result) Worst() float64 { return slices.Max(r.Fullest) }

// pattern is a way to send requests.
type pattern struct {
	name string
	// times returns when requests are sent. Time 0 is a multiple of the window.
	times func(l measure.Limit) []time.Duration
}

var patterns = []pattern{
	{"even", func(l measure.Limit) []time.Duration { // twice the limit
		return burst(nil, 0, 6*l.Capacity, l.Window/time.Duration(2*l.Capacity))
	}},
	{"all at a window's end", func(l measure.Limit) (all []time.Duration) {
		for end := l.Window; end <= 3*l.Window; end += l.Window {
			all = burst(all, end-l.Window/20, 2*l.Capacity, 0)
		}
		return all
	}},
	{"two bursts around an edge", edge},
	// Some windows start with the first request.
	{"the same after a request", func(l measure.Limit) []time.Duration { return append([]time.Duration{0}, edge(l)...) }},
	{"random bursts", func(l measure.Limit) (all []time.Duration) {
		random := rand.New(rand.NewPCG(1, 2))
		for at := time.Duration(0); at < 4*l.Window; at += time.Duration(random.Int64N(int64(l.Window / 2))) {
			all = burst(all, at, 1+random.Int64N(l.Capacity), 0)
		}
		return all
	}},
}

func edge(l measure.Limit) []time.Duration {
	return burst(burst(nil, l.Window-l.Window/20, l.Capacity, 0), l.Window+l.Window/20, l.Capacity, 0)
}

// burst appends n times from a time on.
func burst(all []time.Duration, from time.Duration, n int64, every time.Duration) []time.Duration {
	for i := range n {
		all = append(all, from+time.Duration(i)*every)
	}
	return all
}

// Patterns returns the names of the patterns.
func Patterns() (names []string) {
	for _, p := range patterns {
		names = append(names, p.name)
	}
	return names
}

// Measure sends every pattern to a subject, each by a key of its own and all at
// the same time.
func Measure(ctx context.Context, store string, s *measure.Subject, l measure.Limit) (Result, error) {
	r := Result{Store: store, Subject: s.Name, Fullest: make([]float64, len(patterns))}
	lim, err := s.Open(ctx, l)
	if err != nil {
		return r, err
	}
	if lim.Close != nil {
		defer lim.Close()
	}
	all, ctx := errgroup.WithContext(ctx)
	for i, p := range patterns {
		all.Go(func() (err error) {
			key := fmt.Sprintf("exact:%s:%d:%d", s.Name, time.Now().UnixNano(), i)
			r.Fullest[i], err = fullest(ctx, lim.Decide, key, l, p.times(l))
			return err
		})
	}
	return r, all.Wait()
}

// fullest sends requests at their times, and returns the admissions in the
// fullest window ÷ the capacity.
func fullest(ctx context.Context, decide measure.Decide, key string, l measure.Limit, times []time.Duration) (float64, error) {
	start := time.Now().Truncate(l.Window).Add(l.Window)
	var admitted []span
	for _, at := range times {
		time.Sleep(time.Until(start.Add(at)))
		sent := time.Now()
		allowed, err := decide(ctx, key)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		// A limiter that fails has not admitted.
		if allowed && err == nil {
			admitted = append(admitted, span{sent, time.Now()})
		}
	}
	return float64(most(admitted, l.Window)) / float64(l.Capacity), nil
}

// span is the time in which a decision was made.
type span struct{ sent, answered time.Time }

// most returns how many decisions certainly lie in one window: the first was
// sent, and the last answered, within it. A slow machine makes it smaller, and
// never larger than what was admitted.
func most(admitted []span, window time.Duration) (n int) {
	first := 0
	for i, last := range admitted {
		for last.answered.Sub(admitted[first].sent) >= window {
			first++
		}
		n = max(n, i+1-first)
	}
	return n
}
