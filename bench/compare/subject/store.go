package subject

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/internal/limit"
)

// store is a store of Slidegate, which the engine calls once for a request of
// one rule.
type store interface {
	Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
}

var one = []int64{1}

// slidingWindow is the limit that the case wants.
func slidingWindow(l measure.Limit) limit.Limit {
	return limit.Limit{Capacity: l.Capacity, Window: l.Window, Granularity: l.Window / time.Duration(l.Slots)}
}

func tokenBucket(l measure.Limit) limit.Limit {
	return limit.Limit{Algorithm: limit.TokenBucket, Capacity: l.Capacity, Window: l.Window, Burst: l.Capacity}
}

func slidingLog(l measure.Limit) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: l.Capacity, Window: l.Window, Granularity: limit.Exact}
}

// storeLimiter decides by a store. The other store charges the past, which fill
// needs; it has the same counters.
func storeLimiter(s, past store, by limit.Limit, l measure.Limit) *measure.Limiter {
	limits := []limit.Limit{by}
	lim := &measure.Limiter{Decide: func(ctx context.Context, key string) (bool, error) {
		var v limit.Verdict
		err := s.Charge(ctx, time.Now(), &limit.Charge{Key: key, Limits: limits, Costs: one}, &v)
		return err == nil && v.Allowed, err
	}}
	if !by.Bucket() {
		lim.Fill = fill(l, func(ctx context.Context, then time.Time, key string, units int64) error {
			var v limit.Verdict
			return past.Charge(ctx, then, &limit.Charge{Key: key, Limits: limits, Costs: []int64{units}}, &v)
		})
	}
	return lim
}

// tally counts calls while others read it.
type tally struct{ calls, reads, writes atomic.Int64 }

func (t *tally) read() measure.Calls {
	return measure.Calls{Calls: t.calls.Load(), Reads: t.reads.Load(), Writes: t.writes.Load()}
}
