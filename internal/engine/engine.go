// Package engine decides requests: which rules cover one, what each rule's key and counter are, what the store says, and
// what to do where the store cannot say.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// Store keeps counters. Denial is a verdict; an error means that the store cannot say.
type Store interface {
	// Charge takes the costs from all limits of the key or from none.
	Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	// ChargeAll takes the costs of 1 to limit.MaxLimits keys that differ, or of none of them. If one of the charges is denied,
	// nothing is taken, and the verdicts of the others say what they would get.
	ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error
	// Denies reports whether what the store has at hand proves a denial, without a round trip.
	Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool
	// Settle corrects a charge by deltas, one for each limit, 0 for one that is not limit.Correctable.
	Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error
}

// RuleSource returns the rules in force at a moment. It fails only if it has none at all.
type RuleSource interface {
	Rules(ctx context.Context, now time.Time) (*rules.Set, error)
}

// OverrideSource returns what operators have said of one key of a rule, or of rules.PlanOverrides; nil for nothing. An
// error means that nobody can say, and that it never could.
type OverrideSource interface {
	Override(ctx context.Context, now time.Time, rule, key string) (*rules.Override, error)
}

// Recorder is told of what must not be silent.
type Recorder interface {
	// StoreFailed reports a failure that a decision survived: what was being done, for whom, and why it could not be.
	StoreFailed(ctx context.Context, action, rule, key string, err error)
	// Decided is called for every decision.
	Decided(ctx context.Context, now time.Time, d *Decision)
	// Misfit reports an override of which something was left out: it does not fit the rules as they are now.
	Misfit(ctx context.Context, now time.Time, rule, key string)
}

// Options set up an Engine.
type Options struct {
	Rules     RuleSource
	Overrides OverrideSource // besides those of the rules document; nil for none
	Store     Store
	Local     Store // in this process, for rules with on_error: local
	Recorder  Recorder
	// Deadline bounds the store's part of a decision, in real time; 0 for none.
	Deadline time.Duration
	// Today is when overrides are looked up, and whether they and their grants have ended is judged; the zero value for the
	// moment of each request. So recorded requests can be judged by what holds for their keys today.
	Today time.Time
}

// Engine decides requests. It is safe for concurrent use.
type Engine struct{ opts Options }

// New returns an engine. All options but Overrides, Deadline and Today are required.
func New(opts Options) *Engine { return &Engine{opts} }

// Decide judges a request at a moment, and charges it if it is allowed. Rules are charged in file order, those that are
// atomic together in the turn of the first of them; at the first denial what the earlier ones took is given back, where
// their algorithms can. Rules on trial come after all others, and only if those allow. Decide fails where there are no
// rules to judge by, and with the context's own error where the caller has hung up before the decision was made: then too
// what was taken is given back.
func (e *Engine) Decide(ctx context.Context, now time.Time, req *rules.Request) (*Decision, error) {
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

func (e *Engine) decide(ctx context.Context, now time.Time, set *rules.Set, req *rules.Request) (*Decision, error) {
	set.Locate(req)
	switch {
	case set.Ambiguous(req):
		return &Decision{Reason: Ambiguous, set: set}, nil
	case set.Banned(req):
		return &Decision{Reason: Banned, set: set}, nil
	case set.Skipped(req):
		return &Decision{Reason: Skipped, Allowed: true, set: set}, nil
	}
	d := &Decision{Reason: Limited, set: set}
	if e.standing(ctx, now, set, req, d) {
		d.Reason = Banned
		return d, nil
	}
	var few [16]*rules.Rule
	matched := set.Match(few[:0], req)
	switch {
	case e.foresee(ctx, now, set, matched, req, d):
		return d, nil
	case !slices.ContainsFunc(matched, (*rules.Rule).Enforced): // a rule on trial must not let through what is denied without it
		d.Reason, d.Allowed = Unmatched, set.Unmatched == rules.Allow
	case len(d.Verdicts) == 0:
		d.Reason, d.Allowed = Exempt, true
	default:
		return d, e.judge(ctx, now, set, d)
	}
	e.try(ctx, now, d)
	return d, nil
}

// foresee works out what the rules come to for the request, and reports whether one of them denies it for certain: by an
// override, because nobody can say, or as the store knows without a round trip. Overrides are looked up last, and none once
// the request is denied: a flood that is turned away costs nothing.
func (e *Engine) foresee(ctx context.Context, now time.Time, set *rules.Set, matched []*rules.Rule, req *rules.Request, d *Decision) (denied bool) {
	verdicts := make([]Verdict, len(matched))
	for _, lookup := range []bool{false, true} {
		for i, rule := range matched {
			if rule.TakesOverrides() != lookup {
				continue
			}
			v := &verdicts[i]
			*v = e.newVerdict(ctx, now, set, rule, req, d.Plan)
			switch {
			case !rule.Enforced():
			case v.banned:
				d.ban(v)
				return true
			case v.refuses(), len(matched) > 1 && v.open() && e.opts.Store.Denies(now, &v.charge, &v.Verdict):
				d.deny(v)
				return true
			}
		}
	}
	d.Verdicts = verdicts[:0] // in place: none is moved past one that is still to come
	for i := range verdicts {
		d.add(&verdicts[i])
	}
	return false
}

// Fixed is a source of rules that never change.
type Fixed struct{ Set *rules.Set }

// Rules returns the set.
func (f Fixed) Rules(context.Context, time.Time) (*rules.Set, error) { return f.Set, nil }
