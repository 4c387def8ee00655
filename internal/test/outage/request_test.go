package outage

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// request is work of one store: a charge of a counter, or its reset.
type request struct {
	world       *world
	environment *environment
	counter     *counter
	reset       bool
	charge      limit.Charge
	verdict     limit.Verdict
	now         time.Time
	trueNow     int64 // now by true time
	err         error

	applied  int // how often the charge was made
	attempts int // writes that reached the table
}

func (r *request) run() {
	ctx := context.WithValue(context.Background(), requestKey{}, r)
	if r.reset {
		r.err = r.environment.store.Reset(ctx, r.counter.key)
		return
	}
	r.err = r.environment.store.Charge(ctx, r.now, &r.charge, &r.verdict)
}

// done records the outcome of the request in its store.
func (r *request) done() {
	w := r.world
	r.environment.busy--
	r.countError()
	if r.reset {
		return
	}
	w.count("decisions", 1)
	if r.attempts > 0 {
		w.count([]string{"one attempt", "two attempts", "three attempts"}[min(r.attempts, 3)-1], 1)
	}
	allowed := r.err == nil && r.verdict.Allowed
	switch {
	case allowed:
		w.count("admitted", 1)
	case r.err == nil:
		w.count("denied", 1)
	}
	r.checkOutcome(allowed)
}

func (r *request) countError() {
	w := r.world
	switch {
	case r.err == nil:
	case errors.Is(r.err, dynamo.ErrContended):
		w.count("no answer, contended", 1)
	case errors.Is(r.err, dynamo.ErrAhead):
		w.count("no answer, clock far ahead", 1)
		r.ahead()
	case errors.Is(r.err, dynamo.ErrThrottled):
		w.count("no answer, throttled", 1)
	case errors.Is(r.err, dynamo.ErrTimeout), errors.Is(r.err, errReset):
		w.count("no answer, outcome unknown", 1)
	default:
		r.counter.violated(w, "the store failed: "+r.err.Error())
	}
}

// ahead schedules an operator's reset of a counter that a clock far ahead has
// charged, as the store's error suggests.
func (r *request) ahead() {
	w, k := r.world, r.counter
	if k.resetting {
		return
	}
	k.resetting = true
	w.after(w.between(time.Second, 30*time.Second), func() {
		k.resetting = false
		if w.busy() {
			w.reset(k)
		}
	})
}

// begin starts a request in an environment.
func (r *request) begin(e *environment) {
	r.environment = e
	e.busy++
	r.now, r.trueNow = e.clock.Now(), r.world.now
	r.world.start(r)
}
