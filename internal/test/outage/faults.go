package outage

import "time"

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
