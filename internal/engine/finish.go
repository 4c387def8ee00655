package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// correctionTimeout bounds, in real time, each correction of a charge.
	correctionTimeout = 250 * time.Millisecond
	// maxSettlement is the most units that a correction may add to a charge.
	maxSettlement = limit.MaxCapacity
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
	settlement := func(v *Verdict, i int) int64 { return v.settlement(i, o) }
	e.correct(ctx, now, d.Verdicts, "settle", settlement).Wait()
	e.correct(ctx, now, d.Shadows, "settle", settlement).Wait()
}

// refund returns what a decision has charged so far, and waits for that until
// the decision's deadline. Refunds that take longer go on: without them, the
// store would deny too much.
func (e *Engine) refund(ctx context.Context, now time.Time, vs []Verdict) {
	if !slices.ContainsFunc(vs, func(v Verdict) bool { return v.charged != nil }) {
		return
	}
	refunds := e.correct(ctx, now, vs, "refund", (*Verdict).refund)
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

// settlement returns the units by which the outcome corrects limit i.
func (v *Verdict) settlement(i int, o *Outcome) int64 {
	if v.Rule.Refunds(o.Status) {
		return v.refund(i)
	}
	if !v.Terms.Settles(i) {
		return 0
	}
	actual, reported := o.Costs[v.PolicyName(i)]
	if !reported && o.Aborted {
		actual, reported = v.Terms.MostCost(i), true
	}
	if !reported || actual < 0 {
		return 0
	}
	return v.correction(i, actual)
}

// correction returns the units by which the charge of limit i differs from the
// actual ones.
func (v *Verdict) correction(i int, actual int64) int64 {
	return min(actual-v.Charge.Costs[i], maxSettlement)
}

// refund returns the units that undo the charge of limit i. A bucket or a log
// cannot refund; its charge stays.
func (v *Verdict) refund(i int) int64 {
	if !v.Charge.Limits[i].Correctable() {
		return 0
	}
	return -v.Charge.Costs[i]
}

// correct settles charges concurrently, each limit by its delta. The caller waits
// for them by the group that it returns.
func (e *Engine) correct(
	ctx context.Context, now time.Time, vs []Verdict, action string, delta func(v *Verdict, i int) int64,
) *sync.WaitGroup {
	var wg sync.WaitGroup
	for i := range vs {
		v := &vs[i]
		deltas := v.deltas(delta)
		if deltas == nil {
			continue
		}
		wg.Go(func() {
			// The correction must go out even if the caller has hung up or the
			// decision's deadline has passed.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTimeout)
			defer cancel()
			if err := v.charged.Settle(ctx, now, &v.Charge, &v.Receipt, deltas); err != nil {
				e.opts.Recorder.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
			}
		})
	}
	return &wg
}

// deltas returns the delta of each limit; nil if there is nothing to correct.
func (v *Verdict) deltas(delta func(v *Verdict, i int) int64) []int64 {
	if v.charged == nil {
		return nil
	}
	var deltas [limit.MaxLimits]int64
	for i := range v.Charge.Costs {
		deltas[i] = delta(v, i)
	}
	if deltas == [limit.MaxLimits]int64{} {
		return nil
	}
	return slices.Clone(deltas[:len(v.Charge.Costs)])
}
