package slidegate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// newConfig returns what the options say, with defaults for the rest.
func newConfig(options []Option) (config, error) {
	c := config{policy: FailLocal(ruledoc.DefaultInstances), log: slog.Default()}
	for i, o := range options {
		if o == nil {
			return c, fmt.Errorf("option %d is nil", i+1)
		}
		o.apply(&c)
	}
	if c.problem != nil {
		return c, c.problem
	}
	if c.deadline == 0 && !inMemory(c.store) {
		c.deadline = engine.DefaultDeadline
	}
	if own, ok := c.store.(interface{ Now() time.Time }); ok && c.now == nil {
		c.now = own.Now
	}
	if c.now == nil {
		c.now = processClock()
	}
	return c, nil
}

// defaults returns what WithErrorPolicy says, for rules that state none of their
// own; the zero value if it was not given.
func (c *config) defaults() (d ruledoc.Defaults) {
	switch {
	case !c.policyGiven:
	case c.policy.onError == rules.OnErrorLocal:
		d = ruledoc.Defaults{OnError: c.policy.onError.String(), Instances: int64(c.policy.instances)}
	default:
		d.OnError = c.policy.onError.String()
	}
	return d
}

// processClock returns a clock that goes on by monotonic time, so that no step
// of the machine's clock empties a window or closes it. To read the monotonic
// clock alone takes half the time of time.Now.
func processClock() func() time.Time {
	start := time.Now()
	wall := start.Round(0)
	return func() time.Time { return wall.Add(time.Since(start)) }
}

// checkTime returns an error for a time that limits cannot count by, such as the
// zero Time.
func checkTime(now time.Time) error {
	if !limit.InRange(now) {
		return fmt.Errorf("the time %s is out of range: give one of the years 1930 to 2199", now.Format(time.RFC3339))
	}
	return nil
}

// inMemory reports whether a store is a Memory; without a store, that is the
// default.
func inMemory(s Store) bool {
	_, ok := s.(*Memory)
	return ok || s == nil
}

// newEngine completes the options of an engine.
func (c *config) newEngine(o engine.Options) *engine.Engine {
	o.Store, o.Deadline = c.store, c.deadline
	if inMemory(c.store) { // which does not fail
		o.Local = memory.New(memory.FallbackKeys)
	} else {
		counters := memory.NewFallback(memory.FallbackKeys)
		o.Local, o.Admitted = counters, counters.Note
	}
	o.Observer = &observer{oplog.NewObserver(c.log), c}
	return engine.New(o)
}

// bound returns a context that ends at the deadline of the store.
func (c *config) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.deadline == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.deadline, limit.ErrDeadline)
}

// boundByDefault is bound for calls that no error policy answers: a context with
// a deadline of its own keeps it, so that a program that starts can wait for a
// connection.
func (c *config) boundByDefault(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, own := ctx.Deadline(); own {
		return ctx, func() {}
	}
	return c.bound(ctx)
}

// observe calls the observers.
func (c *config) observe(ctx context.Context, e Event) {
	for _, observer := range c.observers {
		observer(ctx, e)
	}
}

// observer logs failures, and passes them on to the user's observer together
// with the decisions of a gate.
type observer struct {
	*oplog.Observer
	config *config
}

// StoreFailed logs a failure and passes it on.
func (o *observer) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	o.Observer.StoreFailed(ctx, action, rule, key, err)
	o.config.observe(ctx, Event{Time: o.config.now(), Rule: rule, Key: key, Action: action, Err: err})
}
