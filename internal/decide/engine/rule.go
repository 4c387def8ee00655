package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// ChargeRule makes the charge of one resolved rule, and applies its on_error if
// the store fails. It fails only if the caller has hung up. The set says how
// many processes share the load.
func (e *Engine) ChargeRule(ctx context.Context, now time.Time, set *rules.Set, v *Verdict) error {
	cause := e.TryRule(ctx, now, v)
	if cause == nil {
		return nil
	}
	c := charging{Engine: e, now: now, set: set}
	_, err := c.degrade(ctx, v, cause)
	return err
}

// TryRule is ChargeRule without on_error: it returns the store's error.
func (e *Engine) TryRule(ctx context.Context, now time.Time, v *Verdict) error {
	err := e.chargeShared(ctx, now, v)
	if err == nil && v.Allowed {
		e.admit(v)
	}
	return err
}

// Renew makes v ready for the next charge of the same rule.
func (v *Verdict) Renew() {
	v.Uncounted, v.Degraded, v.decided, v.charged = false, false, false, notCharged
}

// admit notes that the store has made a charge.
func (e *Engine) admit(v *Verdict) {
	v.take()
	if e.opts.Admitted != nil {
		e.opts.Admitted(v.Charge.Key)
	}
}

// DecisionOf returns the decision that one rule's verdict makes.
func DecisionOf(set *rules.Set, v Verdict) *Decision {
	v.Limits = slices.Clone(v.Limits) // callers use theirs again
	d := &Decision{Verdicts: []Verdict{v}, set: set}
	if v.Allowed {
		d.conclude(nil)
	} else {
		d.conclude(&d.Verdicts[0])
	}
	return d
}

// SettleRule corrects the charge of one rule to the actual units, one number
// for each limit. A bucket or a log cannot be corrected; its charge stays. A
// leaky bucket returns an unused turn for 0 units, if it can. A rule that charged
// nothing has nothing to correct.
func (e *Engine) SettleRule(ctx context.Context, now time.Time, v *Verdict, actual []int64) error {
	if v.charged == notCharged {
		return nil
	}
	deltas := deltasBy(&v.Charge, &v.Receipt, func(i int) int64 {
		if !v.Charge.Limits[i].Correctable() {
			return fullRefund(&v.Charge, i, actual[i] == 0)
		}
		return correction(&v.Charge, i, actual[i])
	})
	if deltas == nil {
		return nil
	}
	return e.settle(ctx, now, v, deltas)
}

// RenewRule keeps the place in flight of one rule's charge for as long again, from
// now. A rule that charged nothing has no place.
func (e *Engine) RenewRule(ctx context.Context, now time.Time, v *Verdict) error {
	switch v.charged {
	case notCharged:
		return nil
	case chargedLocally:
		return e.opts.Local.Renew(ctx, now, &v.Charge, &v.Receipt)
	}
	return observe(ctx, e.opts.Observer, CallRenew, func() error { return e.opts.Store.Renew(ctx, now, &v.Charge, &v.Receipt) })
}
