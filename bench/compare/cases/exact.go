package cases

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/bench/compare/exact"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// ExactGroup is the limiters on one store whose fullest windows are measured at
// the same time.
type ExactGroup struct {
	Store    string
	Subjects []measure.Subject
	Limit    measure.Limit
}

// Exact returns all limiters but the bare operations. DynamoDB takes longer for
// a burst, so its limiters have a lower capacity.
func Exact(s *Servers) []ExactGroup {
	second := measure.Limit{Capacity: 100, Window: time.Second, Slots: 10}
	groups := []ExactGroup{{"memory", append(algorithms(), subject.Memory()[2:]...), second}}
	if s.Redis != nil {
		groups = append(groups, ExactGroup{"Redis", s.Redis.Limiters()[1:], second})
	}
	if s.Dynamo != nil {
		few := second
		few.Capacity = 20
		for _, one := range append(s.Dynamo.Windows()[1:], s.Dynamo.Buckets()[2:]...) {
			groups = append(groups, ExactGroup{"DynamoDB", []measure.Subject{one}, few})
		}
	}
	return groups
}

// algorithms returns Slidegate's algorithms but the leaky bucket, which delays
// requests.
func algorithms() (all []measure.Subject) {
	for _, a := range []struct {
		name string
		by   func(int64, time.Duration) slidegate.Limit
	}{
		{"sliding_window", slidegate.SlidingWindow},
		{"sliding_window_log", slidegate.SlidingLog},
		{"fixed_window", slidegate.FixedWindow},
		{"sliding_window_counter", slidegate.SlidingWindowCounter},
		{"token_bucket", func(n int64, w time.Duration) slidegate.Limit { return slidegate.TokenBucket(n, w, n) }},
	} {
		open := subject.OpenMemory(func(l measure.Limit) slidegate.Limit { return a.by(l.Capacity, l.Window) }, 0)
		all = append(all, measure.Subject{Name: subject.Slidegate + " " + a.name, Open: open})
	}
	return all
}

// Measure returns the results of the group's subjects, and reports those that
// failed.
func (g *ExactGroup) Measure(ctx context.Context, failed func(error)) (results []exact.Result) {
	all, errs := make([]exact.Result, len(g.Subjects)), make([]error, len(g.Subjects))
	var done sync.WaitGroup
	for i := range g.Subjects {
		done.Go(func() { all[i], errs[i] = exact.Measure(ctx, g.Store, &g.Subjects[i], g.Limit) })
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			failed(fmt.Errorf("fullest windows of %s: %w", g.Subjects[i].Name, err))
			continue
		}
		results = append(results, all[i])
	}
	return results
}
