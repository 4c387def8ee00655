package engine

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// outageRetry is the retry-after of a denial by on_error: deny. Nobody knows when the store will answer again.
const outageRetry = time.Second

// judge charges the rules of a decision one after another. Rules that are atomic are charged together, in the turn of the
// first of them. It fails only where the caller has hung up.
func (e *Engine) judge(ctx context.Context, now time.Time, set *rules.Set, d *Decision) error {
	for i := range d.Verdicts {
		if d.Verdicts[i].asked {
			continue
		}
		denier, err := e.ask(ctx, now, set, d.Verdicts[i:])
		if denier == nil && err == nil {
			continue
		}
		e.giveBack(ctx, now, d.Verdicts)
		if err == nil {
			d.conclude(denier)
		}
		return err
	}
	d.conclude(nil)
	e.try(ctx, now, d)
	return nil
}

// ask charges the first of these rules, and with it those that go together with it. It returns the one that denies the
// request, nil if none does.
func (e *Engine) ask(ctx context.Context, now time.Time, set *rules.Set, vs []Verdict) (denier *Verdict, err error) {
	if group := together(vs); len(group) > 1 {
		return e.chargeAll(ctx, now, set, group)
	}
	v := &vs[0]
	v.asked = true
	switch err := e.opts.Store.Charge(ctx, now, &v.charge, &v.Verdict); {
	case err != nil:
		return e.degrade(ctx, now, set, v, err)
	case !v.Allowed:
		return v, nil
	}
	v.charged = e.opts.Store
	return nil, nil
}

// together returns the rules to charge with the first one if it is atomic, itself included: as many as a store takes at
// once. More would be the turn of the next.
func together(vs []Verdict) (group []*Verdict) {
	if !vs[0].Rule.Atomic {
		return nil
	}
	for i := range vs {
		if v := &vs[i]; v.Rule.Atomic && !v.asked && len(group) < limit.MaxLimits {
			group = append(group, v)
		}
	}
	return group
}

// chargeAll charges rules all or none. If several deny, it returns the one to wait longest for. If the store does not say,
// each rule's on_error decides for it, in their order.
func (e *Engine) chargeAll(ctx context.Context, now time.Time, set *rules.Set, group []*Verdict) (denier *Verdict, err error) {
	charges, verdicts := make([]*limit.Charge, len(group)), make([]*limit.Verdict, len(group))
	for i, v := range group {
		v.asked = true
		charges[i], verdicts[i] = &v.charge, &v.Verdict
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

// degrade decides as the rule's on_error says after the store has failed, and returns the verdict if it denies. A store
// that is well but undecided denies, unless the rule allows: what this process counts on its own would come on top of what
// the store has let through. That a caller has hung up is no failure of the store, and leaves nothing to decide.
func (e *Engine) degrade(ctx context.Context, now time.Time, set *rules.Set, v *Verdict, cause error) (denier *Verdict, err error) {
	if err := ctx.Err(); errors.Is(err, context.Canceled) { // the decision's own deadline is another error
		return nil, err
	}
	e.opts.Recorder.StoreFailed(ctx, "on_error: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, cause)
	v.Degraded = true
	v.Verdict = limit.Verdict{}
	switch {
	case v.Rule.OnError == rules.OnErrorAllow, v.charge.Free():
		v.Uncounted, v.Allowed = true, true
		return nil, nil
	case v.Rule.OnError == rules.OnErrorLocal && !errors.Is(cause, limit.ErrUndecided) && e.chargeLocally(ctx, now, set, v):
		return v.denier(), nil
	}
	v.Uncounted, v.Allowed, v.RetryAfter = true, false, outageRetry
	return v, nil
}
