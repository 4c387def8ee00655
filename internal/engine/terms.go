package engine

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// standing fills in the caller's plan, and reports whether an override denies everything to the caller. Where the
// override cannot be read, what the request itself says stands.
func (e *Engine) standing(ctx context.Context, now time.Time, set *rules.Set, req *rules.Request, d *Decision) (denied bool) {
	var buffer [64]byte
	key, ok := set.AppendPlanKey(buffer[:0], req)
	if !ok {
		d.Plan = set.Plan(req)
		return false
	}
	today := e.today(now)
	o, err := e.override(ctx, today, set, rules.PlanOverrides, string(key), true)
	if err != nil {
		e.opts.Recorder.StoreFailed(ctx, "read override: plan of the request", rules.PlanOverrides, string(key), err)
		d.Degraded = true
	}
	var misfit bool
	if d.Plan, denied, misfit = set.ResolvePlan(req, o, o.InForce(today)); denied {
		d.Why = o.Why
	}
	if misfit {
		e.opts.Recorder.Misfit(ctx, now, rules.PlanOverrides, string(key))
	}
	return denied
}

// today returns the moment by which overrides are judged.
func (e *Engine) today(now time.Time) time.Time {
	if e.opts.Today.IsZero() {
		return now
	}
	return e.opts.Today
}

// override returns what is said of a key: by an operator, where they may, else in the document.
func (e *Engine) override(ctx context.Context, today time.Time, set *rules.Set, rule, key string, operators bool) (*rules.Override, error) {
	if e.opts.Overrides == nil || !operators {
		return set.Override(rule, key), nil
	}
	said, err := e.opts.Overrides.Override(ctx, today, rule, key)
	if err != nil {
		return set.Override(rule, key), err
	}
	return set.Overlay(rule, key, said, today), nil
}

// newVerdict works out what a rule comes to for a request. Where its override cannot be read, on_error says whether the
// rule goes by what it says of everybody, or allows or denies regardless.
func (e *Engine) newVerdict(ctx context.Context, now time.Time, set *rules.Set, rule *rules.Rule, req *rules.Request, plan string) Verdict {
	v := Verdict{Rule: rule, Key: string(rule.AppendKey(make([]byte, 0, 64), req))}
	today := e.today(now)
	var o *rules.Override
	var failed error
	if key, ok := rule.AppendOverrideKey(make([]byte, 0, 64), req); ok {
		o, failed = e.override(ctx, today, set, rule.Name, string(key), rule.TakesOverrides())
	}
	v.Terms = rule.Terms(req, plan, o, today)
	v.banned = v.Terms.Denied
	v.charge = limit.Charge{Key: rule.Item(v.Key, &v.Terms), Limits: v.Terms.Limits, Costs: v.Terms.Costs}
	switch {
	case failed != nil:
		e.opts.Recorder.StoreFailed(ctx, "read override: "+rule.OnError.String(), rule.Name, v.Key, failed)
		v.Degraded = true
		v.goBlind()
	case v.Terms.Stale:
		e.opts.Recorder.Misfit(ctx, now, rule.Name, v.Key)
	}
	return v
}

// goBlind decides without counting, where a rule that cannot be asked says so.
func (v *Verdict) goBlind() {
	switch v.Rule.OnError {
	case rules.OnErrorAllow:
		v.asked, v.Blind, v.Allowed = true, true, true
	case rules.OnErrorDeny:
		v.asked, v.Blind, v.RetryAfter = true, true, outageRetry
	}
}
