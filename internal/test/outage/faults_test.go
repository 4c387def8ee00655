package outage

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// planFaults schedules the faults: environments end and freeze, clocks jump,
// operators reset counters.
func (w *world) planFaults() {
	p := w.plan
	w.every(p.Deaths, func() { w.environments[w.IntN(len(w.environments))] = w.newEnvironment() })
	w.every(p.Freezes, func() { w.anyEnvironment().freeze(w.exponential(time.Minute)) })
	w.every(p.Clocks.Jumps, func() { w.anyEnvironment().wrong = w.between(-p.Clocks.MaxJump, p.Clocks.MaxJump) })
	w.every(p.Resets, func() { w.reset(w.subjects[w.IntN(len(w.subjects))].counter) })
}

func (w *world) anyEnvironment() *environment {
	return w.environments[w.IntN(len(w.environments))]
}

// reset has an operator delete a counter.
func (w *world) reset(k *counter) {
	r := &request{world: w, reset: true, counter: k}
	r.begin(w.anyEnvironment())
}

// reap simulates the table's expiry. DynamoDB deletes an item some time after
// its ttl has passed, unless a write has extended the ttl by then.
func (w *world) reap(k *counter) {
	if k.expiring {
		return
	}
	k.expiring = true
	delay := time.Duration(0)
	if w.chance(w.plan.LateExpiry) {
		delay = w.exponential(20 * time.Minute)
	}
	w.queue.push(max(w.now, k.ttl*int64(time.Second)+int64(delay)), func() {
		k.expiring = false
		switch {
		case k.ttl == 0: // an operator has deleted the item
		case w.now < k.ttl*int64(time.Second):
			w.reap(k)
		default:
			w.table.Delete(k.key)
			k.expired(w)
		}
	})
}

// environment is a process with a clock, a store and its snapshots: a Lambda's
// execution environment, or a gateway.
type environment struct {
	dynamo.API  // nil: a world makes no transactions
	world       *world
	number      int
	wrong       time.Duration // how far the machine's clock is ahead of true time
	clock       *dynamo.Clock // corrected by DynamoDB's answers
	store       *dynamo.Store
	busy        int   // requests under way
	frozen      int64 // it takes no requests before this time
	froze       int64 // when it froze last
	asleep      int64 // for how long it was frozen before that
	generations atomic.Int64
}

func (w *world) newEnvironment() *environment {
	w.started++
	e := &environment{world: w, number: w.started, wrong: w.between(-w.plan.Clocks.Error, w.plan.Clocks.Error)}
	e.clock = dynamo.NewClock(e.reading)
	e.store = dynamo.New(e, tableName, dynamo.Options{
		Wall: e.clock.Now, Confirmed: e.clock.Confirmed, NewGeneration: e.newGeneration,
	})
	e.clock.Observe(e.reading(), serverDate(w.now)) // the rules are read first
	return e
}

// reading reads the machine's clocks. The monotonic one stands still while the
// environment is frozen, the answers that it waits for included.
func (e *environment) reading() clock.Reading {
	now := e.world.now
	frozen := max(0, min(now, e.frozen)-e.froze)
	return clock.Reading{Wall: time.Unix(0, now+int64(e.wrong)), Mono: time.Duration(now - epoch - e.asleep - frozen)}
}

// freeze freezes the environment for some time from now on.
func (e *environment) freeze(d time.Duration) {
	now := e.world.now
	e.asleep += max(0, min(now, e.frozen)-e.froze)
	e.froze, e.frozen = now, now+int64(d)
}

// newGeneration returns a mark that no other environment returns.
func (e *environment) newGeneration() string {
	return strconv.Itoa(e.number) + "." + strconv.FormatInt(e.generations.Add(1), 10)
}

// serverDate is the Date field of an answer that DynamoDB gives at a moment.
func serverDate(at int64) time.Time { return time.Unix(at/int64(time.Second), 0) }

// pick returns an environment that can take a request. As Lambda does, it
// prefers environments that were used recently. It returns nil if all that it
// tried are busy; Lambda itself refuses that request.
func (w *world) pick() *environment {
	n := len(w.environments)
	if w.plan.Turns > 0 {
		return w.environments[(w.now-epoch)/int64(w.plan.Turns)%int64(n)]
	}
	u := w.Float64()
	first := int(u * u * float64(n))
	for i := range min(n, 8) {
		e := w.environments[(first+i)%n]
		if e.frozen <= w.now && (e.busy == 0 || w.plan.Gateways) {
			return e
		}
	}
	return nil
}
