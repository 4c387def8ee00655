package slidegate

import (
	"context"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/setup"
)

// parts returns what a middleware needs of the limiter. It refunds requests whose
// answer has one of these statuses.
func (l *Limiter) parts(refundOn []string) (*setup.LimiterParts, error) {
	r := l
	if len(refundOn) > 0 {
		r = &Limiter{config: l.config, private: l.private, engine: l.engine}
		r.calls.New = func() any { return r.newCall() }
		if err := r.compile(refundOn); err != nil {
			return nil, err
		}
	}
	return &setup.LimiterParts{
		Log: l.config.Log, Decide: r.decide,
		Finish: func(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
			r.engine.Finish(ctx, r.config.Now(), d, o)
		},
		Decision: func(result any) *engine.Decision { return r.decisionOf(result.(Result)) },
	}, nil
}

// decide is AllowN for a middleware.
func (l *Limiter) decide(ctx context.Context, key string, n int64) (*engine.Decision, error) {
	now, c := l.config.Now(), l.newCall()
	if err := l.resolve(ctx, c, key, units{n: n}); err != nil {
		return nil, err
	}
	if err := l.charge(ctx, now, c); err != nil {
		return nil, err
	}
	var r Result
	l.report(ctx, now, c, &r)
	return engine.DecisionOf(l.set, c.Verdict), nil
}

// decisionOf returns a decision with this result, from which answers are written.
func (l *Limiter) decisionOf(r Result) *engine.Decision {
	v := l.newCall().Verdict
	v.Resize(len(l.order))
	v.Allowed, v.Reset, v.RetryAfter, v.Delay = r.Allowed, r.ResetAfter, r.RetryAfter, r.Delay
	v.Degraded, v.Uncounted = r.Degraded, r.Degraded && r.Remaining == 0 && r.ResetAfter == 0
	switch {
	case len(l.order) == 1:
		v.Limits[0] = v.Result
		v.Limits[0].Remaining = r.Remaining
	case len(r.Limits) != len(l.order):
		v.Uncounted = true
	default:
		for given, i := range l.order {
			of := &r.Limits[given]
			v.Limits[i] = limit.Result{Allowed: of.Allowed, Remaining: of.Remaining, Reset: of.ResetAfter, RetryAfter: of.RetryAfter, Delay: of.Delay}
		}
	}
	return engine.DecisionOf(l.set, v)
}
