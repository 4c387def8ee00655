package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
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
	// Usage is what the request has used, by the backend's own names, such as
	// input_tokens: the limits with weights compute their cost from it. An empty
	// one is none.
	Usage map[string]int64
}

// Finish corrects the charges of an allowed request once its outcome is known.
// A rule that refunds this status returns its units. A limit that settles is
// corrected to the true cost. A correction that fails is reported to the
// Observer, and the charge stays. So do all charges if CheckUsage refuses the usage.
// Places in flight are given back, whatever the outcome: the zero Outcome does that
// alone. Call it once.
func (e *Engine) Finish(ctx context.Context, now time.Time, d *Decision, o *Outcome) {
	if d.leave != nil {
		d.leave()
	}
	if len(o.Usage) > 0 && RefusesUsage(ctx, e.opts.Observer, d.pending(true), o) {
		o = &Outcome{}
	}
	settlement := func(v *Verdict) []int64 {
		p, _ := v.pending() // deltas returns nil if there is nothing to correct
		return p.deltas(o)
	}
	for _, vs := range [...][]Verdict{d.Verdicts, d.Shadows} {
		if corrections := e.correct(ctx, now, vs, "settle", settlement); corrections != nil {
			corrections.Wait()
		}
	}
}

// refund returns the units that a decision has charged so far. It waits for the
// refunds until the decision's deadline. Slower ones go on in the background:
// without them, the store would deny too much.
func (e *Engine) refund(ctx context.Context, now time.Time, vs []Verdict) {
	refunds := e.correct(ctx, now, vs, "refund", func(v *Verdict) []int64 {
		if v.Before != nil { // the earlier decision may be at work
			return nil
		}
		return deltasBy(&v.Charge, &v.Receipt, func(i int) int64 { return fullRefund(&v.Charge, i, true) })
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

// correct settles the verdicts' charges concurrently, each by the units that
// deltasOf adds to its limits; nil leaves a charge as it is. The caller waits for
// the corrections by wg, which is nil if there are none.
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
			if err := e.settleSurely(ctx, now, v, deltas); err != nil {
				e.opts.Observer.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
			}
		})
	}
	return wg
}

// settleSurely settles even if the caller has hung up or the decision's deadline
// has passed. A settlement that closes a hold counts once, so it is tried twice. A
// counter that was reset has nothing to correct.
func (e *Engine) settleSurely(ctx context.Context, now time.Time, v *Verdict, deltas []int64) (err error) {
	for try := range 2 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTimeout)
		err = e.settle(ctx, now, v, deltas)
		cancel()
		switch closed := errors.Is(err, limit.ErrClosed); {
		case errors.Is(err, limit.ErrReset), closed && try > 0: // by the first try, whose answer was lost
			return nil
		case closed, err == nil, v.Receipt.Hold == 0:
			return err
		}
	}
	return err
}
