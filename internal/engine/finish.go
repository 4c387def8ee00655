package engine

import (
	"context"
	"sync"
	"time"
)

// Outcome is what became of a request that was let through.
type Outcome struct {
	Status int // of the backend's answer; 0 where there was none
	// Aborted says that the answer broke off before the backend could say what the request has cost. Limits that settle then
	// take the most that may be stated: to hang up must not pay.
	Aborted bool
	// Costs are the true costs, by the limit's name as clients know it, "rule" or "rule.limit". They count for limits that
	// settle.
	Costs map[string]int64
}

// Finish corrects what an allowed request was charged, once its outcome is known: rules that refund this status give
// everything back, limits that settle take or give back the difference to the true cost. What cannot be corrected is
// recorded, and stays charged.
func (e *Engine) Finish(ctx context.Context, now time.Time, d *Decision, o *Outcome) {
	e.correct(ctx, now, d.Verdicts, "settle", func(v *Verdict) []int64 { return v.settlement(o) })
	e.correct(ctx, now, d.Shadows, "settle", func(v *Verdict) []int64 { return v.settlement(o) })
}

// settlement says how the charge is to be corrected; nil for not at all.
func (v *Verdict) settlement(o *Outcome) (deltas []int64) {
	if v.charged == nil {
		return nil
	}
	if v.Rule.Refunds(o.Status) {
		return v.returns()
	}
	for i, cost := range v.charge.Costs {
		if !v.Terms.Settles(i) {
			continue
		}
		actual, told := o.Costs[v.PolicyName(i)]
		if !told && o.Aborted {
			actual = v.Terms.MostCost(i)
		}
		if !told && !o.Aborted || actual < 0 || actual == cost {
			continue
		}
		if deltas == nil {
			deltas = make([]int64, len(v.charge.Costs))
		}
		deltas[i] = min(actual-cost, mostSettled)
	}
	return deltas
}

// correct settles each charge by its deltas, all at once, and waits for it.
func (e *Engine) correct(ctx context.Context, now time.Time, vs []Verdict, action string, deltas func(*Verdict) []int64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range vs {
		v := &vs[i]
		by := deltas(v)
		if by == nil {
			continue
		}
		wg.Go(func() {
			// The caller, or the decision's deadline, may be what ended it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
			defer cancel()
			if err := v.charged.Settle(ctx, now, &v.charge, &v.Receipt, by); err != nil {
				e.opts.Recorder.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
			}
		})
	}
}
