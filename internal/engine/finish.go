package engine

import (
	"context"
	"sync"
	"time"
)

// Outcome is the backend's answer to an allowed request.
type Outcome struct {
	Status int // of the answer; 0 for none
	// Aborted says that the answer broke off before the backend could report
	// the cost. Limits that settle then charge the maximum cost: clients must
	// not save by hanging up.
	Aborted bool
	// Costs are the true costs in units, by the limit's policy name, "rule" or
	// "rule.limit". Only limits that settle use them.
	Costs map[string]int64
}

// Finish corrects the charges of an allowed request once its outcome is known.
// Rules that refund this status take nothing; limits that settle take the true
// cost. A correction that fails is recorded, and the charge stays.
func (e *Engine) Finish(ctx context.Context, now time.Time, d *Decision, o *Outcome) {
	e.correct(ctx, now, d.Verdicts, "settle", func(v *Verdict) []int64 { return v.settlement(o) })
	e.correct(ctx, now, d.Shadows, "settle", func(v *Verdict) []int64 { return v.settlement(o) })
}

// settlement returns the deltas that correct the charge; nil for none.
func (v *Verdict) settlement(o *Outcome) (deltas []int64) {
	if v.charged == nil {
		return nil
	}
	if v.Rule.Refunds(o.Status) {
		return v.refundDeltas()
	}
	for i, cost := range v.Charge.Costs {
		if !v.Terms.Settles(i) {
			continue
		}
		actual, reported := o.Costs[v.PolicyName(i)]
		if !reported && o.Aborted {
			actual = v.Terms.MostCost(i)
		}
		if !reported && !o.Aborted || actual < 0 || actual == cost {
			continue
		}
		if deltas == nil {
			deltas = make([]int64, len(v.Charge.Costs))
		}
		deltas[i] = min(actual-cost, maxSettlement)
	}
	return deltas
}

// correct settles all charges by their deltas concurrently, and waits.
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
			// The correction must go out even if the caller has hung up or the
			// decision's deadline has passed.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTimeout)
			defer cancel()
			if err := v.charged.Settle(ctx, now, &v.Charge, &v.Receipt, by); err != nil {
				e.opts.Recorder.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
			}
		})
	}
}
