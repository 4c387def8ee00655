package slidegate

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// Option sets up a [Limiter] or a [Gate].
type Option interface{ apply(c *config) }

// config is what options fill in.
type config struct {
	name        string
	limits      []ruledoc.Limit
	store       Store
	policy      ErrorPolicy
	policyGiven bool
	deadline    time.Duration
	lease       int64
	now         func() time.Time
	log         *slog.Logger
	observers   []func(context.Context, Event)
	problem     error // with an option; the first
}

// refuse keeps what is wrong with an option.
func (c *config) refuse(wrong bool, problem string) {
	if wrong && c.problem == nil {
		c.problem = errors.New(problem)
	}
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithName names a limiter: lower-case letters, digits and hyphens. Its counters
// carry the name in a shared store, and clients see it in the RateLimit field.
// The name of a limiter in memory is "default" if it has no other.
func WithName(name string) Option { return option(func(c *config) { c.name = name }) }

// WithStore has the counters kept in a store of package dynamostore or
// redisstore, or in a [Memory] that several limiters share. Limiters with equal
// names in one store share their counters. Without this option, each limiter
// has a Memory of its own.
func WithStore(s Store) Option {
	return option(func(c *config) {
		c.refuse(s == nil, "WithStore: the store is nil: open one, or leave the option out to count in memory")
		m, inMemory := s.(*Memory)
		c.refuse(inMemory && (m == nil || m.counters == nil), "WithStore: the Memory is not usable: make one with NewMemory")
		c.store = s
	})
}

// WithErrorPolicy says what happens to requests while the store does not
// answer. The default is [FailLocal] for 20 processes.
func WithErrorPolicy(p ErrorPolicy) Option {
	return option(func(c *config) {
		c.refuse(!p.fail && p.instances < 1, "WithErrorPolicy: give FailOpen, FailClosed, FailError, or FailLocal for at least one process")
		c.policy, c.policyGiven = p, true
	})
}

// WithLease lets a limiter in package dynamostore charge up to n requests ahead
// in one write, for keys above 1,000 requests a second. A lease ends with its slot,
// so no window exceeds the limit. The window loses the units that are left then.
// WithLease takes 2 to 1000, and limits by windows. [New] fails if the counters are in
// memory. A store of package redisstore ignores it.
func WithLease(n int64) Option {
	return option(func(c *config) {
		c.refuse(n < 2 || n > 1000, "WithLease: give a number from 2 to 1000")
		c.lease = n
	})
}

// WithDeadline bounds a decision, with all that it reads and charges, before
// the error policy decides. The default is 250 ms, and no bound for a Memory.
func WithDeadline(d time.Duration) Option {
	return option(func(c *config) {
		c.refuse(d <= 0, "WithDeadline: the time must be positive, such as 100*time.Millisecond")
		c.deadline = d
	})
}

// WithClock replaces the clock, for tests and replays. The default is the
// store's own clock if it has one, else the machine's: its wall clock when the
// limiter was made plus monotonic time since, so that setting the clock does not
// empty a window. That time stands still while the machine sleeps or a Lambda
// is frozen: a Lambda that counts in memory gives time.Now.
//
// A clock that stands still makes [Limiter.Wait] wait for ever: it sleeps by the
// machine's time.
func WithClock(now func() time.Time) Option {
	return option(func(c *config) {
		c.refuse(now == nil, "WithClock: the function is nil: leave the option out for the machine's clock")
		c.now = now
	})
}

// WithLogger replaces slog.Default for messages about failures that decisions
// survive, and of a gate also for warnings about its rules and results of shadow
// rules. Repeated lines are suppressed for ten seconds.
func WithLogger(log *slog.Logger) Option {
	return option(func(c *config) {
		c.refuse(log == nil, "WithLogger: the logger is nil: leave the option out for slog.Default")
		c.log = log
	})
}

// WithObserver calls a function after every decision, and for every failure of
// the store that it decides or settles by, for metrics. A failure comes before
// the decision that survives it. The function must be safe for concurrent use,
// and return quickly: the request waits for it. Given several times, all functions
// are called, in order.
func WithObserver(observe func(context.Context, Event)) Option {
	return option(func(c *config) {
		c.refuse(observe == nil, "WithObserver: the function is nil: leave the option out to observe nothing")
		c.observers = append(c.observers, observe)
	})
}

// Event is a decision or a failure, as an observer gets it.
type Event struct {
	Time   time.Time // of the decision
	Rule   string    // the name of the limiter or rule; "" if no rule decided
	Key    string    // what the rule counts by
	Result Result    // of a decision
	// Reason says what decided: "limited" for a limiter and for rules; a Gate
	// also has "skipped", "banned", "unmatched", "exempt", "ambiguous" and
	// "preflight".
	Reason string
	Shadow bool // the rule is in shadow mode: its result changed nothing
	// Err is a failure, and Action what it led to or struck. Such an event has no
	// Result and no Reason. The actions are:
	//   - "on_error: local", "on_error: allow" and "on_error: deny": the error
	//     policy decided;
	//   - "charge" under FailError, and "decide" of a Gate whose rules cannot be
	//     read: the request got an error;
	//   - "settle" and "refund": the charge was not corrected;
	//   - "charge shadow rule", and those that begin with "read override", of a
	//     Gate: the decision was made without.
	Err    error
	Action string
}

// ErrorPolicy says what happens to a request while the store does not answer.
type ErrorPolicy struct {
	onError   rules.OnError
	instances int
	fail      bool
}

// Policies for requests that the store does not decide.
var (
	// FailOpen allows them: the service stays up, its limits do not.
	FailOpen = ErrorPolicy{onError: rules.OnErrorAllow, instances: 1}
	// FailClosed denies them: the limits hold, the service does not.
	FailClosed = ErrorPolicy{onError: rules.OnErrorDeny, instances: 1}
	// FailError returns the store's error instead of a decision. A Gate does
	// not take it: its rules decide.
	FailError = ErrorPolicy{fail: true}
)

// FailLocal counts requests in this process, with the capacities divided by the
// number of processes that share the load: service stays up and limited, though
// not exactly. A store that answers but cannot decide, because too many others
// write the same counter, denies instead.
func FailLocal(processes int) ErrorPolicy {
	if processes < 1 {
		processes = -1 // an error later: 0 would make the zero ErrorPolicy
	}
	return ErrorPolicy{onError: rules.OnErrorLocal, instances: processes}
}
