package engine

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// errMisfit is recorded for an override that does not fit its rule.
var errMisfit = errors.New("the override does not fit the rule as it is now: what does not fit is left out; " +
	"see `slidegate overrides get` and `slidegate rules diff`")

// standing fills in the caller's plan, and reports whether an override denies everything to the caller. Where the
// override cannot be read, what the request itself says stands.
func (e *Engine) standing(ctx context.Context, now time.Time, set *rules.Set, req *rules.Request, d *Decision) (denied bool) {
	var buffer [64]byte
	key, ok := set.AppendPlanKey(buffer[:0], req)
	if !ok {
		d.Plan = set.Plan(req)
		return false
	}
	o, err := e.override(ctx, now, set, rules.PlanOverrides, string(key), true)
	if err != nil {
		e.opts.Recorder.StoreFailed(ctx, "read override: plan of the request", rules.PlanOverrides, string(key), err)
		d.Degraded = true
	}
	inForce := o.InForce(now)
	if d.Plan, denied = set.Standing(req, o, inForce); denied {
		d.Why = o.Why
	}
	return denied
}

// override returns what is said of a key: by an operator, where they may, else in the document.
func (e *Engine) override(ctx context.Context, now time.Time, set *rules.Set, rule, key string, operators bool) (*rules.Override, error) {
	written := set.Override(rule, key)
	if e.opts.Overrides == nil || !operators {
		return written, nil
	}
	o, err := e.opts.Overrides.Override(ctx, now, rule, key)
	switch {
	case err != nil || o == nil:
		return written, err
	case written != nil && !o.InForce(now): // what is left of it are grants
		both := *written
		both.Grants = o.Grants
		return &both, nil
	}
	return o, nil
}

// newVerdict works out what a rule comes to for a request. Where its override cannot be read, on_error says whether the
// rule goes by what it says of everybody, or allows or denies regardless.
func (e *Engine) newVerdict(ctx context.Context, now time.Time, set *rules.Set, rule *rules.Rule, req *rules.Request, plan string) Verdict {
	v := Verdict{Rule: rule, Key: string(rule.AppendKey(make([]byte, 0, 64), req))}
	var o *rules.Override
	var failed error
	if key, ok := rule.AppendOverrideKey(make([]byte, 0, 64), req); ok {
		o, failed = e.override(ctx, now, set, rule.Name, string(key), rule.TakesOverrides())
	}
	v.Terms = rule.Terms(req, plan, o, now)
	v.banned = v.Terms.Denied
	v.charge = limit.Charge{Key: rule.Item(v.Key, &v.Terms), Limits: v.Terms.Limits, Costs: v.Terms.Costs}
	switch {
	case failed != nil:
		e.opts.Recorder.StoreFailed(ctx, "read override: "+rule.OnError.String(), rule.Name, v.Key, failed)
		v.Degraded = true
		v.goBlind(rule.OnError)
	case v.Terms.Misfit:
		e.opts.Recorder.StoreFailed(ctx, "apply override", rule.Name, v.Key, errMisfit)
	}
	return v
}

// goBlind decides without counting, where a rule that cannot be asked says so.
func (v *Verdict) goBlind(o rules.OnError) {
	switch o {
	case rules.OnErrorAllow:
		v.asked, v.Blind, v.Allowed = true, true, true
	case rules.OnErrorDeny:
		v.asked, v.Blind, v.RetryAfter = true, true, outageRetry
	}
}
