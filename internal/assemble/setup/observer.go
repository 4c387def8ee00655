package setup

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/request"
)

// Event is a decision or a failure. Package slidegate shows it to programs.
type Event struct {
	Time      time.Time
	Rule, Key string
	// Verdict is that of the rule; nil for a failure, and for a decision without
	// one. Order has the index of each of its limits as the program gave them; nil
	// for a rule of a gate.
	Verdict *engine.Verdict
	Order   []int
	// Allowed and Degraded are those of a decision without a verdict.
	Allowed, Degraded bool
	Reason            engine.Reason // of a decision
	Shadow            bool
	Err               error // of a failure, and what it led to
	Action            string
}

// Observe calls the observers.
func (c *Config) Observe(ctx context.Context, e *Event) {
	for _, observe := range c.Observers {
		observe(ctx, e)
	}
}

// Measure shows a decision to the meters.
func (c *Config) Measure(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	for _, m := range c.Meters {
		m.Decided(ctx, now, req, d)
	}
}

// observer logs failures, and passes them on to the program's observers together
// with the decisions of a gate.
type observer struct {
	*oplog.Observer
	config *Config
}

// StoreCall shows a call of the store to the meters.
func (o *observer) StoreCall(ctx context.Context, name string) func(error) {
	ended := o.Observer.StoreCall(ctx, name)
	for _, m := range o.config.Meters {
		before, of := ended, m.StoreCall(ctx, name)
		ended = func(err error) {
			of(err)
			before(err)
		}
	}
	return ended
}

// StoreFailed logs a failure and passes it on.
func (o *observer) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	o.Observer.StoreFailed(ctx, action, rule, key, err)
	o.config.Observe(ctx, &Event{Time: o.config.Now(), Rule: rule, Key: key, Action: action, Err: err})
}

// Decided passes the decision of a gate on: one event for each rule that was
// charged, or one for the request if none was.
func (o *observer) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	o.Observer.Decided(ctx, now, req, d)
	o.config.Measure(ctx, now, req, d)
	if len(o.config.Observers) == 0 {
		return
	}
	report := func(vs []engine.Verdict, r engine.Reason, shadow bool) {
		for i := range vs {
			v := &vs[i]
			o.config.Observe(ctx, &Event{Time: now, Rule: v.Rule.Name, Key: v.Key, Reason: r, Shadow: shadow, Verdict: v})
		}
	}
	report(d.Verdicts, d.Reason, false)
	report(d.Shadows, engine.Limited, true) // whatever decided the request
	if len(d.Verdicts) == 0 {
		o.config.Observe(ctx, &Event{Time: now, Reason: d.Reason, Allowed: d.Allowed, Degraded: d.Degraded})
	}
}
