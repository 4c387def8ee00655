package slidegate

import (
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/setup"
)

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
