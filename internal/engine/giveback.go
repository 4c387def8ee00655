package engine

import (
	"context"
	"sync"
	"time"
)

// giveBackTimeout bounds, in real time, the return of what a request took that was not let through.
const giveBackTimeout = 250 * time.Millisecond

// giveBack returns what the rules have taken. What a bucket or a log took cannot be returned and stays charged; so does
// what a store fails to take back.
func (e *Engine) giveBack(ctx context.Context, now time.Time, vs []Verdict) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range vs {
		v := &vs[i]
		deltas := v.returns()
		if deltas == nil {
			continue
		}
		wg.Go(func() {
			// The caller, or the decision's deadline, may be what ended it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
			defer cancel()
			if err := v.charged.Settle(ctx, now, &v.charge, &v.Receipt, deltas); err != nil {
				e.opts.Recorder.StoreFailed(ctx, "give back", v.Rule.Name, v.Key, err)
			}
		})
	}
}

// returns says how to correct the charge so that it took nothing, as far as that can be; nil if there is nothing to do.
func (v *Verdict) returns() (deltas []int64) {
	if v.charged == nil {
		return nil
	}
	for i, cost := range v.charge.Costs {
		if cost == 0 || !v.charge.Limits[i].Correctable() {
			continue
		}
		if deltas == nil {
			deltas = make([]int64, len(v.charge.Costs))
		}
		deltas[i] = -cost
	}
	return deltas
}
