package slidegate

import (
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/setup"
)

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

func init() {
	setup.ResultOf = func(v *engine.Verdict) any {
		var r Result
		r.fill(v, nil)
		return r
	}
	setup.LimiterOf = func(l any, refundOn []string) (*setup.LimiterParts, error) { return l.(*Limiter).parts(refundOn) }
}
