package engine

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// outageRetry is the retry-after of a denial by on_error: deny. When the store
// will answer again is unknown.
const outageRetry = time.Second

// evaluate charges the rules of a decision in order, atomic rules together. It
// fails only if the caller has hung up.
func (e *Engine) evaluate(ctx context.Context, now time.Time, set *rules.Set, d *Decision) error {
	for i := range d.Verdicts {
		if d.Verdicts[i].decided {
			continue
		}
		denier, err := e.chargeNext(ctx, now, set, d.Verdicts[i:])
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

// chargeNext charges the first of these rules, together with its atomic group.
// It returns the verdict that denies the request, nil for none.
func (e *Engine) chargeNext(ctx context.Context, now time.Time, set *rules.Set, vs []Verdict) (denier *Verdict, err error) {
	if group := atomicGroup(vs); len(group) > 1 {
		return e.chargeAll(ctx, now, set, group)
	}
	v := &vs[0]
	v.decided = true
	switch err := e.opts.Store.Charge(ctx, now, &v.Charge, &v.Verdict); {
	case err != nil:
		return e.degrade(ctx, now, set, v, err)
	case !v.Allowed:
		return v, nil
	}
	v.charged = e.opts.Store
	return nil, nil
}

// atomicGroup returns the rules to charge together with the first one, itself
// included, if that is atomic. A store takes at most limit.MaxLimits at once;
// the next group has the others.
func atomicGroup(vs []Verdict) (group []*Verdict) {
	if !vs[0].Rule.Atomic {
		return nil
	}
	for i := range vs {
		if v := &vs[i]; v.Rule.Atomic && !v.decided && len(group) < limit.MaxLimits {
			group = append(group, v)
		}
	}
	return group
}

// chargeAll charges all rules of a group or none. If several deny, it returns
// the one with the longest wait. If the store fails, each rule's on_error
// decides, in order.
func (e *Engine) chargeAll(ctx context.Context, now time.Time, set *rules.Set, group []*Verdict) (denier *Verdict, err error) {
	charges, verdicts := make([]*limit.Charge, len(group)), make([]*limit.Verdict, len(group))
	for i, v := range group {
		v.decided = true
		charges[i], verdicts[i] = &v.Charge, &v.Verdict
	}
	if cause := e.opts.Store.ChargeAll(ctx, now, charges, verdicts); cause != nil {
		for _, v := range group {
			if denier, err := e.degrade(ctx, now, set, v, cause); denier != nil || err != nil {
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
	if denier == nil {
		for _, v := range group {
			v.charged = e.opts.Store
		}
	}
	return denier, nil
}

func longer(a, b time.Duration) bool { return b != limit.Never && (a == limit.Never || a > b) }

// degrade decides by the rule's on_error after the store has failed, and
// returns the verdict if it denies. If the store answers but stays undecided,
// on_error: local denies as well: a local count would come on top of the
// store's own. A caller that has hung up is no failure of the store.
func (e *Engine) degrade(ctx context.Context, now time.Time, set *rules.Set, v *Verdict, cause error) (denier *Verdict, err error) {
	if err := ctx.Err(); errors.Is(err, context.Canceled) { // the decision's own deadline is another error
		return nil, err
	}
	e.opts.Recorder.StoreFailed(ctx, "on_error: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, cause)
	v.Degraded = true
	v.Verdict = limit.Verdict{}
	switch {
	case v.Rule.OnError == rules.OnErrorAllow, v.Charge.ZeroCost():
		v.Uncounted, v.Allowed = true, true
		return nil, nil
	case v.Rule.OnError == rules.OnErrorLocal && !errors.Is(cause, limit.ErrUndecided) && e.chargeLocally(ctx, now, set, v):
		return v.denier(), nil
	}
	v.Uncounted, v.Allowed, v.RetryAfter = true, false, outageRetry
	return v, nil
}
