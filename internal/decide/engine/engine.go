// Package engine decides requests. It finds the rules that cover a request,
// resolves the caller's plan and the overrides of its keys, charges the store,
// and applies on_error where the store does not answer.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

// AtomicBatcher is an optional interface of a Store. Batches reports whether
// ChargeAll costs no more than Charge and takes any keys, so that one call
// charges all rules of a request. Then a request that one rule denies charges
// none of them.
type AtomicBatcher interface{ Batches() bool }

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

// DefaultDeadline bounds a decision by a store that may be away. It ends long
// before API Gateway gives up.
const DefaultDeadline = 250 * time.Millisecond

// Options set up an Engine.
type Options struct {
	Rules     RuleSource
	Overrides OverrideSource // set by command; nil for none
	Store     limit.Store
	Local     limit.Store // in this process, for rules with on_error: local
	// Admitted is called with the key of every counter that Store has charged;
	// nil for no call.
	Admitted func(key string)
	Observer Observer // nil for none
	// Deadline bounds a decision in real time, with all that it reads, charges
	// and refunds; 0 for none. What a store has not done by then, on_error
	// decides.
	Deadline time.Duration
	// Today is the moment at which overrides are looked up and their ends are
	// decided. The zero value means the moment of each request. A fixed moment
	// replays old requests under today's overrides.
	Today time.Time
}

// Engine decides requests. It is safe for concurrent use.
type Engine struct {
	opts    Options
	batcher AtomicBatcher // opts.Store, if it is one; nil otherwise
}

// New returns an engine. Rules, Store and Local are required.
func New(opts Options) *Engine {
	opts.Observer = cmp.Or[Observer](opts.Observer, NoObserver{})
	batcher, _ := opts.Store.(AtomicBatcher)
	return &Engine{opts, batcher}
}

// Decide evaluates a request at a moment, and charges it if it is allowed.
// Rules are charged in file order; the atomic ones are charged together, when
// the first of them is due. A denial refunds what earlier rules took, where
// their algorithms can. An AtomicBatcher charges up to limit.MaxLimits rules in
// one call instead; if it cannot, the lowest rate comes first. Shadow
// rules come last, and only for allowed requests.
//
// Decide returns by the deadline. A refund that takes longer goes on beside the
// answer. Only the wait for the first rules is not bounded by the deadline,
// because no other part of a decision can stand in for them.
//
// Decide fails if there are no rules, and if a rule reads what the request's
// event lacks. It also fails, with the context's error, if the caller hangs up
// before the decision; then too it refunds the charges.
func (e *Engine) Decide(ctx context.Context, now time.Time, req *request.Request) (*Decision, error) {
	bounded, lookups, cancel := e.bound(ctx)
	defer func() { cancel() }()
	set, err := e.opts.Rules.Rules(bounded, now)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		set, err = e.opts.Rules.Rules(ctx, now)
		bounded, lookups, cancel = e.bound(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := set.Unmet(req.Missing); err != nil {
		return nil, err
	}
	if err := set.UnmetOperation(req); err != nil {
		return nil, err
	}
	d, err := e.decide(bounded, lookups, now, set, req)
	if err != nil {
		return nil, err
	}
	e.opts.Observer.Decided(bounded, now, req, d)
	return d, nil
}

// bound returns a context that ends at the deadline of a decision that begins
// now, and one for its lookups of overrides, which ends at half of it. Otherwise
// a slow table of overrides would leave no time for counters that answer.
func (e *Engine) bound(ctx context.Context) (decision, lookups context.Context, cancel context.CancelFunc) {
	if e.opts.Deadline == 0 {
		return ctx, ctx, func() {}
	}
	decision, end := context.WithTimeoutCause(ctx, e.opts.Deadline, limit.ErrDeadline)
	if e.opts.Overrides == nil {
		return decision, decision, end
	}
	lookups, endLookups := context.WithTimeoutCause(decision, e.opts.Deadline/2, limit.ErrDeadline)
	return decision, lookups, func() { endLookups(); end() }
}

// errLate is the cause of a context that ends before counters could be called
// away. A circuit breaker does not count it.
var errLate = fmt.Errorf("the rest of a decision's deadline, after slow lookups: %w", context.DeadlineExceeded)

// rest returns the context for charges. If lookups have used up half of the
// deadline, counters that do not answer in the other half are not away: otherwise
// clients could open their breaker by made-up keys.
func rest(ctx, lookups context.Context) (context.Context, context.CancelFunc) {
	if lookups == ctx || lookups.Err() == nil {
		return ctx, func() {}
	}
	deadline, _ := ctx.Deadline()
	return context.WithDeadlineCause(ctx, deadline.Add(-time.Millisecond), errLate) // before that of ctx
}

func (e *Engine) decide(ctx, lookups context.Context, now time.Time, set *rules.Set, req *request.Request) (*Decision, error) {
	set.Locate(req)
	switch {
	case set.Ambiguous(req):
		return &Decision{Reason: Ambiguous, set: set}, nil
	case set.Banned(req):
		return &Decision{Reason: Banned, set: set}, nil
	case set.Skipped(req):
		return &Decision{Reason: Skipped, Allowed: true, set: set}, nil
	}
	resolver := Resolver{Set: set, Overrides: e.opts.Overrides, Now: now}
	if !e.opts.Today.IsZero() {
		resolver.Now = e.opts.Today
	}
	plan := e.resolvePlan(lookups, now, &resolver, req)
	degraded := set.Unpublished || req.Unverified || plan.Err != nil
	if plan.Denied {
		return &Decision{Reason: Banned, Degraded: degraded, set: set}, nil
	}
	var few [16]*rules.Rule
	matched := set.Match(few[:0], req)
	if req.IsPreflight() {
		matched = slices.DeleteFunc(matched, func(r *rules.Rule) bool { return !r.Counts(req) && !r.BansPreflights() })
	}
	d := &Decision{Verdicts: make([]Verdict, len(matched)), Degraded: degraded, Plan: plan.Name, set: set}
	switch {
	case e.precheck(lookups, now, &resolver, matched, req, d):
		return d, nil
	case len(d.Verdicts) == 0 && req.IsPreflight():
		d.Reason, d.Allowed = Preflight, true
	case !slices.ContainsFunc(matched, (*rules.Rule).Enforced): // a shadow rule must not let through what unmatched denies
		d.Reason, d.Allowed = Unmatched, set.Unmatched == rules.Allow
	case len(d.Verdicts) == 0:
		d.Reason, d.Allowed = Exempt, true
	default:
		ctx, cancel := rest(ctx, lookups)
		defer cancel()
		return d, e.evaluate(ctx, now, d)
	}
	e.evaluateShadows(ctx, now, d)
	return d, nil
}

// resolvePlan returns the caller's plan, and records what of it could not be used.
// If its override cannot be read, the plan that the request itself names applies.
func (e *Engine) resolvePlan(ctx context.Context, now time.Time, r *Resolver, req *request.Request) Plan {
	plan := r.Plan(ctx, req)
	if plan.Err != nil {
		e.opts.Observer.StoreFailed(ctx, "read override: plan of the request", rules.PlanOverrides, plan.Key, plan.Err)
	}
	if plan.Stale {
		e.opts.Observer.StaleOverride(ctx, now, rules.PlanOverrides, plan.Key)
	}
	return plan
}

// precheck resolves the matched rules, and reports whether one of them denies
// the request already: by an override, by on_error because the override cannot
// be read, or by the store's snapshot. Rules with overrides to look up come
// last, so that a flood that other rules deny costs no lookups. A rule that does
// not count the request, a preflight, can deny it only by its override.
func (e *Engine) precheck(ctx context.Context, now time.Time, r *Resolver, matched []*rules.Rule, req *request.Request, d *Decision) (denied bool) {
	for _, lookup := range []bool{false, true} {
		for i, rule := range matched {
			if rule.TakesOverrides() != lookup {
				continue
			}
			v := &d.Verdicts[i]
			v.Resolution = r.Resolve(ctx, rule, req, d.Plan)
			v.Resize(len(v.Terms.Limits))
			bypass := e.applyBypass(ctx, now, v)
			v.free = !rule.Counts(req)
			switch {
			case !rule.Enforced():
			case bypass == Refused:
				d.Reason = Banned
				d.deny(v)
				return true
			case bypass == ErrorDenies, len(matched) > 1 && !v.free && bypass == NoBypass && e.denies(now, v):
				d.deny(v)
				return true
			}
		}
	}
	d.splitShadows()
	return false
}

// applyBypass records what Resolve could not use, and decides by on_error if
// the override could not be read.
func (e *Engine) applyBypass(ctx context.Context, now time.Time, v *Verdict) Bypass {
	switch {
	case v.Terms.Err != nil:
		e.opts.Observer.StoreFailed(ctx, "read override: "+v.Rule.OnError.String(), v.Rule.Name, v.Key, v.Terms.Err)
		v.Degraded = true
	case v.Terms.Stale:
		e.opts.Observer.StaleOverride(ctx, now, v.Rule.Name, v.Key)
	}
	bypass := v.Bypass()
	if bypass == ErrorDenies {
		v.decided, v.Uncounted, v.RetryAfter = true, true, retryAfter(v.Terms.Err)
	}
	return bypass
}

// Fixed is a source of rules that never change.
type Fixed struct{ Set *rules.Set }

// Rules returns the set.
func (f Fixed) Rules(context.Context, time.Time) (*rules.Set, error) { return f.Set, nil }
