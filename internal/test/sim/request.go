package sim

import (
	"context"
	"errors"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

type operation uint8

const (
	charge operation = iota // of one counter, or of two in one transaction
	settle
	peek
	reset
)

// request is work of one store: a charge, a correction, a peek or a reset.
type request struct {
	world       *world
	environment *environment
	operation   operation
	parts       []*part // one for each counter
	now         time.Time
	trueNow     int64 // now by true time
	err         error
}

// part is what a request does to one counter.
type part struct {
	counter *counter
	charge  limit.Charge
	verdict limit.Verdict

	receipt limit.Receipt // of a correction
	deltas  []int64
	entry   int64 // when the charge to be corrected was made, by true time

	applied  int  // how often the charge was made
	attempts int  // writes that reached the table
	itemRead bool // the store has read the item; then
	room     bool // the exact log had room at the last read
}

func (r *request) run() {
	ctx := context.WithValue(context.Background(), requestKey{}, r)
	p, store := r.parts[0], r.environment.store
	switch {
	case r.operation == settle:
		r.err = store.Settle(ctx, r.now, &p.charge, &p.receipt, p.deltas)
	case r.operation == peek:
		r.err = store.Peek(ctx, r.now, &p.charge, &p.verdict)
	case r.operation == reset:
		r.err = store.Reset(ctx, p.counter.key)
	case len(r.parts) == 1:
		r.err = store.Charge(ctx, r.now, &p.charge, &p.verdict)
	default:
		charges, verdicts := make([]*limit.Charge, len(r.parts)), make([]*limit.Verdict, len(r.parts))
		for i, p := range r.parts {
			charges[i], verdicts[i] = &p.charge, &p.verdict
		}
		r.err = store.ChargeAll(ctx, r.now, charges, verdicts)
	}
}

// part returns what the request does to a counter; nil if the request only
// prunes it.
func (r *request) part(key string) *part {
	for _, p := range r.parts {
		if p.counter.key == key {
			return p
		}
	}
	return nil
}

// done records the outcome of the request in its store.
func (r *request) done() {
	r.environment.busy--
	r.count()
	if r.operation != charge {
		return
	}
	w := r.world
	w.count("decisions", 1)
	allowed := r.err == nil
	for _, p := range r.parts {
		allowed = allowed && p.verdict.Allowed
	}
	switch {
	case allowed:
		w.count("admitted", 1)
		r.admitted()
	case r.err == nil:
		w.count("denied", 1)
		r.denied()
	}
	for _, p := range r.parts {
		p.counter.checkOutcome(r, p, allowed)
	}
}

// count counts errors and attempts.
func (r *request) count() {
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
		w.count("no answer, other errors", 1)
		r.parts[0].counter.violated(w, "the store failed: "+r.err.Error())
	}
	if n := r.parts[0].attempts; n > 0 && r.operation == charge {
		w.count([]string{"one attempt", "two attempts", "three attempts"}[min(n, 3)-1], 1)
	}
}

// ahead schedules an operator's reset of a counter that a clock far ahead has
// charged, as the store's error suggests.
func (r *request) ahead() {
	for _, p := range r.parts {
		k := p.counter
		if k.resetting {
			continue
		}
		k.resetting = true
		r.world.after(r.world.between(time.Second, 30*time.Second), func() {
			k.resetting = false
			if r.world.busy() {
				r.world.reset(k)
			}
		})
	}
}

// admitted decides whether the charge is corrected later, because its true cost
// differs or the work failed.
func (r *request) admitted() {
	w := r.world
	for _, p := range r.parts {
		if !w.chance(w.plan.Settled) {
			continue
		}
		deltas := w.correction(&p.charge)
		if deltas == nil {
			continue
		}
		later := &request{world: w, environment: r.environment, operation: settle, parts: []*part{{
			counter: p.counter, charge: p.charge, receipt: p.verdict.Receipt, deltas: deltas, entry: r.trueNow,
		}}}
		w.after(w.exponential(p.charge.Limits[0].Window/4), func() {
			if w.busy() {
				later.begin(w.chance(w.plan.ColdReceipts))
			}
		})
	}
}

// begin starts a request in its environment, or in any if that one has ended.
func (r *request) begin(elsewhere bool) {
	w := r.world
	if elsewhere || !r.environment.live() {
		r.environment = w.anyEnvironment()
	}
	r.environment.busy++
	r.now, r.trueNow = r.environment.clock.Now(), w.now
	w.start(r)
}

// correction draws how the true cost of a charge differs; nil if it does not.
func (w *world) correction(c *limit.Charge) []int64 {
	deltas, some := make([]int64, len(c.Limits)), false
	for i := range c.Limits {
		if !c.Limits[i].Correctable() {
			continue
		}
		switch u := w.Float64(); {
		case u < 0.4:
			deltas[i] = -c.Costs[i]
		case u < 0.7 && c.Costs[i] > 1:
			deltas[i] = -1 - w.Int64N(c.Costs[i])
		case u < 0.85:
			deltas[i] = 1 + w.Int64N(max(1, c.Limits[i].Capacity/8))
		}
		some = some || deltas[i] != 0
	}
	if !some {
		return nil
	}
	return deltas
}
