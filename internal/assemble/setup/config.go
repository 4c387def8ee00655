// Package setup has what the public packages share: the configuration that their
// options fill in, and what is wrong with limits and rules, in the words of Go
// programs.
package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Config is what limiters, gates and settling have in common.
type Config struct {
	Store    limit.Store      // nil for a memory of its own
	Now      func() time.Time // nil for StoreNow
	StoreNow func() time.Time // the store's own clock; nil for none
	Policy   Policy           // the zero value for the default
	Deadline time.Duration    // 0 for none
	Log      *slog.Logger

	Observers []func(context.Context, *Event)
	// Meters observe decisions and calls of the store as the engine sees them. A
	// decision of a gate is one for them, whatever the rules.
	Meters  []engine.Observer
	problem error // with an option; the first
}

// Limiter is the configuration of a limiter.
type Limiter struct {
	Config
	Name   string
	Limits []rules.GoLimit
	Lease  int64
	Errors bool // the store's error instead of a policy
}

// Policy decides requests while the store does not answer.
type Policy struct {
	OnError   rules.OnError
	Processes int // that share the load
}

// Apply applies options to c, and completes it by defaults.
func Apply[Option comparable](c *Config, options []Option, apply func(Option)) error {
	c.Log = slog.Default()
	for i, o := range options {
		if o == *new(Option) {
			return fmt.Errorf("option %d is nil", i+1)
		}
		apply(o)
	}
	if c.problem != nil {
		return c.problem
	}
	if c.Deadline == 0 && !c.InMemory() {
		c.Deadline = engine.DefaultDeadline
	}
	if c.Now == nil {
		c.Now = c.StoreNow
	}
	if c.Now == nil {
		c.Now = clock.Monotonic()
	}
	return nil
}

// Refuse keeps what is wrong with an option.
func (c *Config) Refuse(wrong bool, problem string) {
	if wrong && c.problem == nil {
		c.problem = errors.New(problem)
	}
}

// Defaults returns what the policy says for rules that state none of their own;
// the zero value if none was given.
func (c *Config) Defaults() (d ruledoc.Defaults) {
	if c.Policy.Processes > 0 {
		d.OnError = c.Policy.OnError.String()
	}
	if c.Policy.OnError == rules.OnErrorLocal {
		d.Instances = int64(c.Policy.Processes)
	}
	return d
}

// InMemory reports whether counters are kept in this process.
func (c *Config) InMemory() bool {
	_, ok := c.Store.(*memory.Store)
	return ok || c.Store == nil
}

// NewEngine completes the options of an engine.
func (c *Config) NewEngine(o engine.Options) *engine.Engine {
	o.Store, o.Deadline = c.Store, c.Deadline
	if c.InMemory() { // which does not fail
		o.Local = memory.New(memory.FallbackKeys)
	} else {
		counters := memory.NewFallback(memory.FallbackKeys)
		o.Local, o.Admitted = counters, counters.Note
	}
	o.Observer = c.Observer()
	return engine.New(o)
}

// Observer returns an observer that logs failures, and calls the program's.
func (c *Config) Observer() engine.Observer { return &observer{oplog.NewObserver(c.Log), c} }

// Bound returns a context that ends at the deadline of the store.
func (c *Config) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Deadline == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.Deadline, limit.ErrDeadline)
}

// BoundByDefault is Bound for calls that no error policy answers: a context with
// a deadline of its own keeps it, so that a program that starts can wait for a
// connection.
func (c *Config) BoundByDefault(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, own := ctx.Deadline(); own {
		return ctx, func() {}
	}
	return c.Bound(ctx)
}

// StoreOption is an option of limiters and gates.
type StoreOption func(*Config)

// ForLimiter makes it an option of a limiter.
func (o StoreOption) ForLimiter(l *Limiter) { o(&l.Config) }

// ForGate makes it an option of a gate.
func (o StoreOption) ForGate(c *Config) { o(c) }

// SharedOption is an option of limiters, gates and settling.
type SharedOption func(*Config)

// ForLimiter makes it an option of a limiter.
func (o SharedOption) ForLimiter(l *Limiter) { o(&l.Config) }

// ForGate makes it an option of a gate.
func (o SharedOption) ForGate(c *Config) { o(c) }

// ForSettling makes it an option of middleware that settles.
func (o SharedOption) ForSettling(c *Config) { o(c) }
