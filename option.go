package slidegate

import (
	"context"
	"log/slog"
	"time"

	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// Option sets up a [Limiter] or a [Gate].
type Option interface{ apply(c *config) }

// config is what options fill in.
type config struct {
	name   string
	limits []ruledoc.Limit
	store  Store
	policy ErrorPolicy

	policyGiven bool
	deadline    time.Duration
	now         func() time.Time
	log         *slog.Logger
	observe     func(context.Context, Event)
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
func WithStore(s Store) Option { return option(func(c *config) { c.store = s }) }

// WithErrorPolicy says what happens to requests while the store does not
// answer. The default is [FailLocal] for 20 processes.
func WithErrorPolicy(p ErrorPolicy) Option {
	return option(func(c *config) { c.policy, c.policyGiven = p, true })
}

// WithDeadline bounds the time that the store may take for a decision, before
// the error policy decides. The default is 250 ms, and no bound for a Memory.
func WithDeadline(d time.Duration) Option { return option(func(c *config) { c.deadline = d }) }

// WithClock replaces the clock, for tests and replays. The default is the
// store's own clock if it has one, else the machine's: its wall clock when the
// limiter was made plus monotonic time since, so that nobody who sets the clock
// empties a window.
func WithClock(now func() time.Time) Option { return option(func(c *config) { c.now = now }) }

// WithLogger replaces slog.Default for messages about failures that decisions
// survive. Repeated lines are suppressed for ten seconds.
func WithLogger(log *slog.Logger) Option { return option(func(c *config) { c.log = log }) }

// WithObserver calls a function after every decision and every failure, for
// metrics. It must be safe for concurrent use, and return quickly: the request
// waits for it.
func WithObserver(observe func(context.Context, Event)) Option {
	return option(func(c *config) { c.observe = observe })
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
	// Err is a failure, which a decision may have survived, and Action what
	// failed, such as "on_error: local" or "settle". Such an event has no
	// Result.
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

// FailLocal counts them in this process, with the capacities divided by the
// number of processes that share the load: service stays up and limited, though
// not exactly. A store that answers but cannot decide, because too many others
// write the same counter, denies instead.
func FailLocal(processes int) ErrorPolicy {
	return ErrorPolicy{onError: rules.OnErrorLocal, instances: processes}
}
