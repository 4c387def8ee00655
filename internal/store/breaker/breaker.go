// Package breaker keeps requests from waiting for a store that does not answer.
//
// After five calls in a row without an answer the breaker opens: calls fail at
// once with ErrOpen. A second later it lets one call through to probe the store.
// Once a probe is answered, the breaker closes.
package breaker

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// opensAfter is the number of calls in a row without an answer after which a
	// breaker opens.
	opensAfter = 5
	// ProbeEvery is how long an open breaker waits before it probes the store.
	ProbeEvery = time.Second
)

// ErrOpen is the error of a call that an open breaker did not make.
var ErrOpen error = openError{}

type openError struct{}

func (openError) Error() string { return "the store has not answered lately, so it was not asked" }

func (openError) Is(target error) bool { return target == limit.ErrNotAsked }

// Breaker guards the calls to one store. It is safe for concurrent use. A nil
// Breaker makes every call.
//
// Only calls without an answer open it. An answer that refuses the call is one,
// throttling included: it costs no wait, and it may concern one key alone. A
// call whose caller gave up says nothing about the store: the caller has hung
// up, or its own deadline was shorter than the limiter's.
type Breaker struct {
	circuit *gobreaker.CircuitBreaker[struct{}]
	now     func() time.Time
	opened  atomic.Pointer[time.Time] // when it opened last; nil while it is closed
	cause   atomic.Pointer[error]     // of the latest call without an answer
}

// Change is the opening or closing of a breaker.
type Change struct {
	Open  bool
	Cause error // why the last call got no answer
}

// ErrNeutral is wrapped by the error of a call that says nothing about the store,
// for example because another call reports the same failure.
var ErrNeutral = errors.New("the call says nothing about the store")

// New returns a closed breaker. now is time.Now. changed is called when the
// breaker opens, and when it closes; not for probes in between.
func New(now func() time.Time, changed func(Change)) *Breaker {
	b := &Breaker{now: now}
	b.circuit = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		// The breaker measures ProbeEvery itself: gobreaker uses the monotonic
		// clock, which stands still while a Lambda is frozen.
		Timeout:     time.Nanosecond,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= opensAfter },
		IsExcluded:  func(err error) bool { return errors.Is(err, ErrNeutral) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				at := now()
				b.opened.Store(&at)
			case gobreaker.StateClosed:
				b.opened.Store(nil)
			}
			if from == gobreaker.StateClosed || to == gobreaker.StateClosed {
				changed(Change{Open: to == gobreaker.StateOpen, Cause: *b.cause.Load()}) // nothing changes before the first one
			}
		},
	})
	return b
}

// Do makes a call, or fails with ErrOpen. answered reports whether an error of
// the call is an answer of the store.
func (b *Breaker) Do(ctx context.Context, call func() error, answered func(error) bool) error {
	if b == nil {
		return call()
	}
	if b.pausing() {
		return ErrOpen
	}
	var outcome error
	_, err := b.circuit.Execute(func() (none struct{}, _ error) {
		outcome = call()
		switch {
		case outcome == nil, answered(outcome):
			return none, nil
		case errors.Is(outcome, ErrNeutral), ctx.Err() != nil && !errors.Is(context.Cause(ctx), limit.ErrDeadline):
			return none, ErrNeutral
		}
		b.cause.Store(&outcome)
		return none, outcome
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return ErrOpen
	}
	return outcome
}

// Open reports whether the breaker is open, or lets a single call through to
// probe the store.
func (b *Breaker) Open() bool { return b.opened.Load() != nil }

// pausing reports whether the breaker is open and no probe is due yet. Either
// clock may say that one is due: the monotonic one stands still while a Lambda
// is frozen, and the wall clock may be set back.
func (b *Breaker) pausing() bool {
	opened := b.opened.Load()
	if opened == nil {
		return false
	}
	now := b.now()
	return max(now.Sub(*opened), now.Round(0).Sub(opened.Round(0)).Abs()) < ProbeEvery
}

// LogChanges returns a function for New that logs each change of the breaker of a
// store, such as "dynamodb://counters".
func LogChanges(log *slog.Logger, store string) func(Change) {
	return func(c Change) {
		if c.Open {
			log.Error("store does not answer; requests no longer wait for it", "store", store, "error", c.Cause)
			return
		}
		log.Info("store answers again", "store", store)
	}
}
