// Package engine decides requests. It finds the rules that cover a request,
// resolves the caller's plan and the overrides of its keys, charges the store,
// and applies on_error where the store does not answer.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// Store keeps counters. A denial is a verdict; an error means that the store
// did not decide.
type Store interface {
	// Charge takes the costs from all limits of the key or from none.
	Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	// ChargeAll takes the costs of 1 to limit.MaxLimits different keys, or of
	// none of them. If one of the charges is denied, nothing is taken, and the
	// other verdicts say what their charges would get.
	ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error
	// Denies reports whether the store's local snapshot proves a denial,
	// without a round trip.
	Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool
	// Settle corrects a charge by deltas, one for each limit. A limit that is
	// not limit.Correctable has delta 0.
	Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error
}

// RuleSource returns the rules in force at a moment. It fails only if it has
// never had any.
type RuleSource interface {
	Rules(ctx context.Context, now time.Time) (*rules.Set, error)
}

// OverrideSource returns the override that operators set by command for one key
// of a rule, or of rules.PlanOverrides; nil for none. An error means that no
// current or earlier value is available.
type OverrideSource interface {
	Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error)
}

// Recorder receives decisions, and what operators must learn about them.
type Recorder interface {
	// StoreFailed reports a failure that a decision survived: the action, the
	// rule and key it was for, and the cause.
	StoreFailed(ctx context.Context, action, rule, key string, err error)
	// Decided is called for every decision.
	Decided(ctx context.Context, now time.Time, d *Decision)
	// StaleOverride reports an override of which a part was left out because it
	// no longer fits the rules.
	StaleOverride(ctx context.Context, now time.Time, rule, key string)
}

// Options set up an Engine.
type Options struct {
	Rules     RuleSource
	Overrides OverrideSource // set by command; nil for none
	Store     Store
	Local     Store // in this process, for rules with on_error: local
	Recorder  Recorder
	// Deadline bounds the store's part of a decision, in real time; 0 for none.
	Deadline time.Duration
	// Today is the moment at which overrides are looked up and their ends are
	// decided. The zero value means the moment of each request. A fixed moment
	// replays old requests under today's overrides.
	Today time.Time
}

// Engine decides requests. It is safe for concurrent use.
type Engine struct{ opts Options }

// New returns an engine. All options but Overrides, Deadline and Today are
// required.
func New(opts Options) *Engine { return &Engine{opts} }

// Decide evaluates a request at a moment, and charges it if it is allowed.
// Rules are charged in file order; the atomic ones are charged together, when
// the first of them is due. A denial refunds what earlier rules took, where
// their algorithms can. Shadow rules come last, and only for allowed requests.
//
// Decide fails if there are no rules. It also fails, with the context's error,
// if the caller hangs up before the decision; then too it refunds the charges.
func (e *Engine) Decide(ctx context.Context, now time.Time, req *request.Request) (*Decision, error) {
	set, err := e.opts.Rules.Rules(ctx, now)
	if err != nil {
		return nil, err
	}
	if e.opts.Deadline > 0 {
		bounded, cancel := context.WithTimeout(ctx, e.opts.Deadline)
		defer cancel()
		ctx = bounded
	}
	d, err := e.decide(ctx, now, set, req)
	if err != nil {
		return nil, err
	}
	e.opts.Recorder.Decided(ctx, now, d)
	return d, nil
}

func (e *Engine) decide(ctx context.Context, now time.Time, set *rules.Set, req *request.Request) (*Decision, error) {
	set.Locate(req)
	switch {
	case req.IsPreflight():
		return &Decision{Reason: Preflight, Allowed: true, set: set}, nil
	case set.Ambiguous(req):
		return &Decision{Reason: Ambiguous, set: set}, nil
	case set.Banned(req):
		return &Decision{Reason: Banned, set: set}, nil
	case set.Skipped(req):
		return &Decision{Reason: Skipped, Allowed: true, set: set}, nil
	}
	d := &Decision{Reason: Limited, Degraded: set.Unpublished || req.Unverified, set: set}
	resolver := Resolver{Set: set, Overrides: e.opts.Overrides, Now: now}
	if !e.opts.Today.IsZero() {
		resolver.Now = e.opts.Today
	}
	if e.resolvePlan(ctx, now, &resolver, req, d) {
		d.Reason = Banned
		return d, nil
	}
	var few [16]*rules.Rule
	matched := set.Match(few[:0], req)
	switch {
	case e.precheck(ctx, now, &resolver, matched, req, d):
		return d, nil
	case !slices.ContainsFunc(matched, (*rules.Rule).Enforced): // a shadow rule must not let through what unmatched denies
		d.Reason, d.Allowed = Unmatched, set.Unmatched == rules.Allow
	case len(d.Verdicts) == 0:
		d.Reason, d.Allowed = Exempt, true
	default:
		return d, e.evaluate(ctx, now, set, d)
	}
	e.evaluateShadows(ctx, now, d)
	return d, nil
}

// resolvePlan sets the caller's plan, and reports whether an override denies
// everything to the caller. If the override cannot be read, the plan that the
// request itself names applies.
func (e *Engine) resolvePlan(ctx context.Context, now time.Time, r *Resolver, req *request.Request, d *Decision) (denied bool) {
	plan := r.Plan(ctx, req)
	d.Plan = plan.Name
	if plan.Err != nil {
		e.opts.Recorder.StoreFailed(ctx, "read override: plan of the request", rules.PlanOverrides, plan.Key, plan.Err)
		d.Degraded = true
	}
	if plan.Stale {
		e.opts.Recorder.StaleOverride(ctx, now, rules.PlanOverrides, plan.Key)
	}
	if plan.Denied {
		d.Why = plan.Override.Why
	}
	return plan.Denied
}

// precheck resolves the matched rules, and reports whether one of them denies
// the request already: by an override, by on_error because the override cannot
// be read, or by the store's snapshot. Rules with overrides to look up come
// last, so that a flood that other rules deny costs no lookups.
func (e *Engine) precheck(ctx context.Context, now time.Time, r *Resolver, matched []*rules.Rule, req *request.Request, d *Decision) (denied bool) {
	verdicts := make([]Verdict, len(matched))
	for _, lookup := range []bool{false, true} {
		for i, rule := range matched {
			if rule.TakesOverrides() != lookup {
				continue
			}
			v := &verdicts[i]
			v.Resolution = r.Resolve(ctx, rule, req, d.Plan)
			bypass := e.applyBypass(ctx, now, v)
			switch {
			case !rule.Enforced():
			case bypass == Refused:
				d.Reason, d.Why = Banned, v.Terms.Why
				d.deny(v)
				return true
			case bypass == ErrorDenies,
				len(matched) > 1 && bypass == NoBypass && e.opts.Store.Denies(now, &v.Charge, &v.Verdict):
				d.deny(v)
				return true
			}
		}
	}
	d.Verdicts = verdicts[:0] // in place: no verdict moves past one that is still to come
	for i := range verdicts {
		d.add(&verdicts[i])
	}
	return false
}

// applyBypass records what Resolve could not use, and decides by on_error if
// the override could not be read.
func (e *Engine) applyBypass(ctx context.Context, now time.Time, v *Verdict) Bypass {
	switch {
	case v.Err != nil:
		e.opts.Recorder.StoreFailed(ctx, "read override: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, v.Err)
		v.Degraded = true
	case v.Terms.Stale:
		e.opts.Recorder.StaleOverride(ctx, now, v.Rule.Name, v.Key)
	}
	bypass := v.Bypass()
	switch bypass {
	case ErrorAllows:
		v.decided, v.Uncounted, v.Allowed = true, true, true
	case ErrorDenies:
		v.decided, v.Uncounted, v.RetryAfter = true, true, outageRetry
	}
	return bypass
}

// Fixed is a source of rules that never change.
type Fixed struct{ Set *rules.Set }

// Rules returns the set.
func (f Fixed) Rules(context.Context, time.Time) (*rules.Set, error) { return f.Set, nil }
