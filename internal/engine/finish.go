package engine

import (
	"context"
	"sync"
	"time"
)

// correctionTimeout bounds, in real time, each correction of a charge.
const correctionTimeout = 250 * time.Millisecond

// CostField is the HTTP field in which a backend reports Outcome.Costs.
const CostField = "Slidegate-Cost"

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
	settlement := func(v *Verdict) []int64 {
		p, _ := v.pending() // without something to correct, there are no deltas
		return p.deltas(o)
	}
	for _, vs := range [...][]Verdict{d.Verdicts, d.Shadows} {
		if corrections := e.correct(ctx, now, vs, "settle", settlement); corrections != nil {
			corrections.Wait()
		}
	}
}

// refund returns what a decision has charged so far, and waits for that until
// the decision's deadline. Refunds that take longer go on: without them, the
// store would deny too much.
func (e *Engine) refund(ctx context.Context, now time.Time, vs []Verdict) {
	refunds := e.correct(ctx, now, vs, "refund", func(v *Verdict) []int64 {
		return deltas(&v.Charge, func(i int) int64 { return refund(&v.Charge, i) })
	})
	if refunds == nil {
		return
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		refunds.Wait()
		return
	}
	until, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	go func() {
		defer cancel()
		refunds.Wait()
	}()
	<-until.Done()
}

// correct settles charges concurrently by their deltas; nil leaves one as it is.
// The caller waits for them by the group that it returns, nil if there are none.
func (e *Engine) correct(
	ctx context.Context, now time.Time, vs []Verdict, action string, deltasOf func(*Verdict) []int64,
) (wg *sync.WaitGroup) {
	for i := range vs {
		v := &vs[i]
		if v.charged == notCharged {
			continue
		}
		deltas := deltasOf(v)
		if deltas == nil {
			continue
		}
		if wg == nil {
			wg = &sync.WaitGroup{}
		}
		wg.Go(func() {
			// The correction must go out even if the caller has hung up or the
			// decision's deadline has passed.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTimeout)
			defer cancel()
			if err := e.settle(ctx, now, v, deltas); err != nil {
				e.opts.Observer.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
			}
		})
	}
	return wg
}
