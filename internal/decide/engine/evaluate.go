package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// outageRetry is the retry-after of a denial by on_error: deny. When the
	// store will answer again is unknown.
	outageRetry = time.Second
	// throttledRetry is that of a denial because the store throttles: it takes
	// fewer calls for that to end, so clients stay away longer.
	throttledRetry = 5 * time.Second
)

// retryAfter returns the retry-after of a denial that no count stands behind.
func retryAfter(cause error) time.Duration {
	if _, throttled := errors.AsType[limit.Throttled](cause); throttled {
		return throttledRetry
	}
	return outageRetry
}

// charging charges the rules of one request.
type charging struct {
	*Engine
	now time.Time
	set *rules.Set // says how many processes share the load
	// batch charges as many rules as possible in one call.
	batch bool
}

// evaluate charges the rules of a decision in order, atomic rules together, or
// all of them for an AtomicBatcher. It fails only if the caller has hung up.
func (e *Engine) evaluate(ctx context.Context, now time.Time, d *Decision) error {
	var few [limit.MaxLimits]*Verdict
	due := few[:0]
	for i := range d.Verdicts {
		due = append(due, &d.Verdicts[i])
	}
	c := charging{Engine: e, now: now, set: d.set, batch: e.batcher != nil && len(due) <= limit.MaxLimits && e.batcher.Batches()}
	if e.batcher != nil && !c.batch {
		lowestRateFirst(due)
	}
	for i := range due {
		if due[i].decided {
			continue
		}
		denier, err := c.next(ctx, due[i:])
		if errors.Is(err, limit.ErrGroup) { // on_error is for the rule at fault alone
			c.batch = false
			lowestRateFirst(due[i:])
			denier, err = c.next(ctx, due[i:])
		}
		if denier == nil && err == nil {
			continue
		}
		e.refund(ctx, now, d.Verdicts)
		if err == nil {
			d.conclude(denier)
		}
		return err
	}
	d.conclude(nil)
	e.evaluateShadows(ctx, now, d)
	return nil
}

// lowestRateFirst sorts the rules for an AtomicBatcher that cannot charge them
// in one call. The rule of the lowest rate is the likeliest to deny a flood:
// so the flood takes little from the budgets that others share.
func lowestRateFirst(due []*Verdict) {
	slices.SortStableFunc(due, func(a, b *Verdict) int { return cmp.Compare(a.rate(), b.rate()) })
}

// rate returns the lowest rate of the verdict's limits, in requests of this cost
// a nanosecond. A limit that the request costs nothing of denies none. A rule in
// flight stays the last: no request takes a place while another rule may deny it.
func (v *Verdict) rate() float64 {
	lowest := math.Inf(1)
	if v.place() {
		return lowest
	}
	for i := range v.Charge.Limits {
		l, cost := &v.Charge.Limits[i], v.Charge.Costs[i]
		if cost > 0 {
			lowest = min(lowest, float64(l.Capacity)/float64(l.Window)/float64(cost))
		}
	}
	return lowest
}

// next charges the first of these rules, together with its atomic group,
// and returns the verdict that denies the request, nil for none. If several
// deny, it returns the one with the longest wait. If the store fails, each
// rule's on_error decides, in order. If it refuses rules only because they are
// together, they stay undecided, and the error is the store's.
func (c *charging) next(ctx context.Context, due []*Verdict) (denier *Verdict, err error) {
	var few [limit.MaxLimits]*Verdict
	group := c.appendGroup(few[:0], due)
	if cause := c.charge(ctx, group); cause != nil {
		if c.batch && len(group) > 1 && errors.Is(cause, limit.ErrGroup) {
			for _, v := range group {
				v.decided = false
			}
			return nil, cause
		}
		for _, v := range group {
			if denier, err := c.degrade(ctx, v, cause); denier != nil || err != nil {
				return denier, err
			}
		}
		return nil, nil
	}
	for _, v := range group {
		if !v.Allowed && (denier == nil || longer(v.RetryAfter, denier.RetryAfter)) {
			denier = v
		}
	}
	return denier, nil
}

// appendGroup appends the first rule and, if that is atomic, the other rules of
// its atomic group; all rules, if they are charged together. A store takes at
// most limit.MaxLimits at once; more rules go into the next group.
func (c *charging) appendGroup(group, due []*Verdict) []*Verdict {
	first := due[0]
	group = append(group, first)
	if !first.Rule.Atomic && !c.batch {
		return group
	}
	for _, v := range due[1:] {
		if (v.Rule.Atomic || c.batch) && !v.decided && len(group) < limit.MaxLimits {
			group = append(group, v)
		}
	}
	return group
}

// charge charges all rules of a group or none.
func (c *charging) charge(ctx context.Context, group []*Verdict) error {
	if len(group) == 1 {
		return c.TryRule(ctx, c.now, group[0])
	}
	charges, verdicts := make([]*limit.Charge, len(group)), make([]*limit.Verdict, len(group))
	for i, v := range group {
		v.decided = true
		charges[i], verdicts[i] = &v.Charge, &v.Verdict
	}
	err := observe(ctx, c.opts.Observer, CallChargeAll, func() error { return c.opts.Store.ChargeAll(ctx, c.now, charges, verdicts) })
	if err != nil {
		for _, v := range group {
			c.abandon(ctx, c.now, v, err)
		}
		return err
	}
	if slices.ContainsFunc(group, func(v *Verdict) bool { return !v.Allowed }) {
		return nil
	}
	for _, v := range group {
		c.admit(v)
	}
	return nil
}

func longer(a, b time.Duration) bool { return b != limit.Never && (a == limit.Never || a > b) }

// degrade decides by the rule's on_error after the store has failed, and
// returns the verdict if it denies. If the store answers but stays undecided,
// on_error: local denies as well: a local count would come on top of the
// store's own. A caller that has hung up is no failure of the store.
func (c *charging) degrade(ctx context.Context, v *Verdict, cause error) (denier *Verdict, err error) {
	if err := ctx.Err(); errors.Is(err, context.Canceled) { // the decision's own deadline is another error
		return nil, err
	}
	failure, local := cause, v.Rule.OnError == rules.OnErrorLocal && !v.Charge.ZeroCost() && !errors.Is(cause, limit.ErrUndecided)
	if local {
		v.Charge.Limits = LocalShares(v.Charge.Limits, v.Charge.Costs, c.set.Instances)
		failure = &LocalError{cause, v.Charge.Limits, v.Charge.Costs}
	}
	c.opts.Observer.StoreFailed(ctx, "on_error: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, failure)
	v.Degraded = true
	v.Verdict = limit.Verdict{Limits: v.Limits}
	v.Resize(len(v.Charge.Limits))
	clear(v.Limits)
	switch {
	case v.Rule.OnError == rules.OnErrorAllow, v.Charge.ZeroCost():
		v.Uncounted, v.Allowed = true, true
	case local && c.chargeLocally(ctx, v):
		// The local store has decided.
	default:
		v.Uncounted, v.Allowed, v.RetryAfter = true, false, retryAfter(cause)
	}
	if v.Allowed {
		return nil, nil
	}
	return v, nil
}
