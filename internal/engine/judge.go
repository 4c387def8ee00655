package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// outageRetry is the retry-after of a denial by on_error: deny. Nobody knows when the store will answer again.
const outageRetry = time.Second

// giveBackTimeout bounds, in real time, the return of what a denied request took.
const giveBackTimeout = 250 * time.Millisecond

// judge charges the rules of a decision one after another, having asked first whether one of them can deny for free.
func (e *Engine) judge(ctx context.Context, now time.Time, set *rules.Set, d *Decision) {
	if len(d.Verdicts) > 1 && e.foresee(now, d) {
		return
	}
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if err := e.opts.Store.Charge(ctx, now, &v.charge, &v.Verdict); err != nil {
			e.degrade(ctx, now, set, v, err)
			d.Degraded = true
		}
		if !v.Allowed {
			e.giveBack(ctx, now, d.Verdicts[:i])
			d.Verdicts = []Verdict{*v}
			return
		}
	}
	d.Allowed = true
}

// foresee denies the request where the store knows without a round trip that one of the rules would.
func (e *Engine) foresee(now time.Time, d *Decision) bool {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; e.opts.Store.Denies(now, &v.charge, &v.Verdict) {
			d.Verdicts = []Verdict{*v}
			return true
		}
	}
	return false
}

// giveBack returns what rules before the denying one have taken. Units that cannot be returned stay charged.
func (e *Engine) giveBack(ctx context.Context, now time.Time, charged []Verdict) {
	// The decision's deadline may be what ended it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i := range charged {
		v := &charged[i]
		if v.Degraded || v.charge.Free() {
			continue
		}
		wg.Go(func() {
			deltas := make([]int64, len(v.charge.Costs))
			for j, cost := range v.charge.Costs {
				deltas[j] = -cost
			}
			if err := e.opts.Store.Settle(ctx, now, &v.charge, &v.Receipt, deltas); err != nil {
				e.opts.Recorder.StoreFailed(ctx, "give back", v.Rule.Name, v.Key, err)
			}
		})
	}
	wg.Wait()
}

// degrade decides as the rule's on_error says after the store has failed. A store that is well but undecided denies,
// unless the rule allows: what this process counts on its own would come on top of what the store has let through.
func (e *Engine) degrade(ctx context.Context, now time.Time, set *rules.Set, v *Verdict, cause error) {
	e.opts.Recorder.StoreFailed(ctx, "on_error: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, cause)
	v.Degraded = true
	v.Verdict = limit.Verdict{}
	switch {
	case v.Rule.OnError == rules.OnErrorAllow, v.charge.Free():
		v.Blind, v.Allowed = true, true
		return
	case v.Rule.OnError == rules.OnErrorLocal && !errors.Is(cause, limit.ErrUndecided):
		v.charge.Limits = localLimits(v.charge.Limits, v.charge.Costs, set.Instances)
		if err := e.opts.Local.Charge(ctx, now, &v.charge, &v.Verdict); err == nil {
			return
		}
	}
	v.Blind, v.Allowed, v.RetryAfter = true, false, outageRetry
}

// localLimits returns the share of the limits that each of so many processes may let through on its own: at least one
// request.
func localLimits(limits []limit.Limit, costs []int64, instances int) []limit.Limit {
	shares := slices.Clone(limits)
	for i := range shares {
		l := &shares[i]
		l.Capacity = min(l.Capacity, max(1, costs[i], l.Capacity/int64(max(1, instances))))
	}
	return shares
}
