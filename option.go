package slidegate

import (
	"context"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/rules"
)

// Option sets up a [Limiter]. A [Limit] is one, and so is an [ErrorPolicy]. Some
// fit other constructors too: their types say so.
type Option interface {
	// ForLimiter is for this module.
	ForLimiter(*setup.Limiter)
}

// StoreOption is an Option that gate.New takes too.
type StoreOption = setup.StoreOption

// SharedOption is an Option that gate.New and limithttp.SettleMiddleware take too.
type SharedOption = setup.SharedOption

type limiterOption func(*setup.Limiter)

func (o limiterOption) ForLimiter(l *setup.Limiter) { o(l) }

// WithName names a limiter: lower-case letters, digits and hyphens. Its counters
// carry the name in a shared store, and clients see it in the RateLimit field.
// The name of a limiter in memory is "default" if it has no other.
func WithName(name string) Option { return limiterOption(func(l *setup.Limiter) { l.Name = name }) }

// WithLimits adds limits that the program reads from elsewhere, such as those of
// a customer's plan. None is an error, so that a plan without limits does not
// limit by something else.
func WithLimits(limits ...Limit) Option {
	return limiterOption(func(l *setup.Limiter) {
		l.Refuse(len(limits) == 0, "WithLimits: there are none: give at least one, such as SlidingWindow(100, time.Minute)")
		for _, limit := range limits {
			limit.ForLimiter(l)
		}
	})
}

// WithStore keeps the counters in a store of package dynamostore or redisstore, or
// in a [Memory] that several limiters share. Limiters with equal
// names in one store share their counters. Without this option, each limiter
// has a Memory of its own.
func WithStore(s Store) StoreOption {
	return func(c *setup.Config) {
		m, inMemory := s.(*Memory)
		switch {
		case s == nil:
			c.Refuse(true, "WithStore: the store is nil: open one, or leave the option out to count in memory")
			return
		case inMemory && (m == nil || m.counters == nil):
			c.Refuse(true, "WithStore: the Memory is not usable: make one with NewMemory")
			return
		}
		c.Store, c.StoreNow = s.Driver(), nil
		if own, ok := s.(interface{ Now() time.Time }); ok {
			c.StoreNow = own.Now
		}
	}
}

// WithLease lets a limiter in package dynamostore charge up to n requests ahead
// in one write, for keys above 1,000 requests a second. A lease ends with its slot,
// so no window exceeds the limit. The window loses the units that are left then.
// n is 2 to 1000, and all limits must be windows. [New] fails if the counters are
// in memory. A store of package redisstore ignores it.
func WithLease(n int64) Option {
	return limiterOption(func(l *setup.Limiter) {
		l.Refuse(n < 2 || n > 1000, "WithLease: give a number from 2 to 1000")
		l.Lease = n
	})
}

// WithDeadline bounds a decision, with all that it reads and charges, before
// the error policy decides. The default is 250 ms, and no bound for a Memory.
func WithDeadline(d time.Duration) StoreOption {
	return func(c *setup.Config) {
		c.Refuse(d <= 0, "WithDeadline: the time must be positive, such as 100*time.Millisecond")
		c.Deadline = d
	}
}

// WithClock replaces the clock, for tests and replays. The default is the
// store's own clock if it has one, else the machine's: its wall clock when the
// limiter was made plus monotonic time since, so that setting the clock does not
// empty a window. That time stands still while the machine sleeps or a Lambda
// is frozen: a Lambda that counts in memory gives time.Now.
//
// A clock that stands still makes [Limiter.Wait] wait for ever: it sleeps by the
// machine's time.
func WithClock(now func() time.Time) SharedOption {
	return func(c *setup.Config) {
		c.Refuse(now == nil, "WithClock: the function is nil: leave the option out for the machine's clock")
		c.Now = now
	}
}

// WithLogger replaces slog.Default for messages about failures that decisions
// survive, and of a gate also for warnings about its rules and results of shadow
// rules. Repeated lines are suppressed for ten seconds.
func WithLogger(log *slog.Logger) SharedOption {
	return func(c *setup.Config) {
		c.Refuse(log == nil, "WithLogger: the logger is nil: leave the option out for slog.Default")
		c.Log = log
	}
}

// WithObserver calls a function after every decision, and for every failure of the
// store during a decision or a settlement, for metrics. A failure comes before
// the decision that survives it. The function must be safe for concurrent use,
// and return quickly: the request waits for it. Given several times, all functions
// are called, in order.
func WithObserver(observe func(context.Context, Event)) SharedOption {
	return func(c *setup.Config) {
		c.Refuse(observe == nil, "WithObserver: the function is nil: leave the option out to observe nothing")
		c.Observers = append(c.Observers, func(ctx context.Context, e *setup.Event) { observe(ctx, eventOf(e)) })
	}
}

// ErrorPolicy is an [Option] that says what happens to a request while the store
// does not answer. The default is [FailLocal] for 20 processes. gate.New takes it
// too, and so does each of a gate's rules. [FailError] is another choice for a
// Limiter.
type ErrorPolicy struct{ policy setup.Policy }

// FailOpen allows requests that the store does not decide: the service stays up,
// its limits do not.
func FailOpen() ErrorPolicy {
	return ErrorPolicy{setup.Policy{OnError: rules.OnErrorAllow, Processes: 1}}
}

// FailClosed denies requests that the store does not decide: the limits hold, the
// service does not.
func FailClosed() ErrorPolicy {
	return ErrorPolicy{setup.Policy{OnError: rules.OnErrorDeny, Processes: 1}}
}

// FailLocal counts requests in this process, with the capacities divided by the
// number of processes that share the load: the service stays up and limited,
// though not exactly. If the store answers but cannot decide, because too many
// others write the same counter, the policy denies.
func FailLocal(processes int) ErrorPolicy {
	if processes < 1 {
		processes = -1 // an error later: 0 would make the zero ErrorPolicy
	}
	return ErrorPolicy{setup.Policy{OnError: rules.OnErrorLocal, Processes: processes}}
}

// FailError returns the store's error instead of a decision, and leaves it to the
// program what the request gets. It is for a Limiter alone: a gate has several
// rules, and decides by those that the store answers for.
func FailError() Option {
	return limiterOption(func(l *setup.Limiter) { l.Errors = true })
}

// ForLimiter makes the policy an Option.
func (p ErrorPolicy) ForLimiter(l *setup.Limiter) {
	p.ForGate(&l.Config)
	l.Errors = false
}

// ForGate makes the policy an option of gate.New.
func (p ErrorPolicy) ForGate(c *setup.Config) {
	c.Refuse(p.policy.Processes == 0, "the zero ErrorPolicy: give FailOpen(), FailClosed() or FailLocal(4)")
	c.Refuse(p.policy.Processes < 0, "FailLocal: give at least one process")
	c.Policy = p.policy
}

// Event is a decision or a failure, as an observer gets it.
type Event struct {
	Time   time.Time // of the decision
	Rule   string    // the name of the limiter or rule; "" if no rule decided
	Key    string    // what the rule counts by
	Result Result    // of a decision
	Reason Reason    // of a decision: what decided
	Shadow bool      // the rule is in shadow mode: its result changed nothing
	// Err is a failure. Action is the error policy that decided, or the call that
	// failed. Such an event has no Result and no Reason.
	Err    error
	Action Action
}

// Reason says what decided a request. Package gate defines all reasons but
// ReasonLimited.
type Reason string

// ReasonLimited means that limits decided. Every decision of a limiter has it, and
// every decision that a gate's rules made.
const ReasonLimited Reason = "limited"

// Action says which error policy decided after a failure, or which call failed.
// Package gate defines the actions that only gates report.
type Action string

// The actions that limiters and gates report.
const (
	ActionLocal  Action = "on_error: local" // FailLocal decided
	ActionAllow  Action = "on_error: allow" // FailOpen allowed the request
	ActionDeny   Action = "on_error: deny"  // FailClosed denied the request
	ActionCharge Action = "charge"          // by FailError, the request got the error
	ActionSettle Action = "settle"          // the charge was not corrected to the true costs
	ActionRefund Action = "refund"          // the charge was not returned
)

func eventOf(e *setup.Event) Event {
	event := Event{Time: e.Time, Rule: e.Rule, Key: e.Key, Shadow: e.Shadow, Err: e.Err, Action: Action(e.Action)}
	switch {
	case e.Err != nil:
		return event
	case e.Verdict != nil:
		event.Result.fill(e.Verdict, e.Order)
	default:
		event.Result = Result{Allowed: e.Allowed, Degraded: e.Degraded}
	}
	event.Reason = Reason(e.Reason.String())
	return event
}
