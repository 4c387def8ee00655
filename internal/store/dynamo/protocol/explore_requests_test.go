package protocol

import "fmt"

// request decides a caller's request by its snapshot, and sends a write unless
// the snapshot denies.
func (s *callers) request(x *callersState, c *caller, cost int8) (ok bool, broken string) {
	if c.phase == waiting || c.phase == again && cost != c.cost {
		return false, ""
	}
	q := s.question(c, cost)
	w := s.decide(q)
	broken = s.needless(x, q)
	switch {
	case w == denied:
		if broken == "" {
			broken = s.wrong(x, c, q)
		}
		c.rest()
	case w == failed, c.attempts == MaxAttempts: // the last answer does not deny
		if w != failed && s.still {
			broken = fmt.Sprintf("I6: no outcome after %d attempts at tick %d", c.attempts, q.clock)
		}
		c.rest()
	default:
		if s.transacts {
			w, c.since = s.transaction(q), c.gen
		}
		c.phase, c.cost, c.write, c.sent = waiting, cost, w, c.clock
		c.attempts++
	}
	return true, broken
}

// question returns the decision that a caller has to make. A clock that has
// jumped is not confirmed.
func (s *callers) question(c *caller, cost int8) question {
	return question{
		snapshot: c.snapshot, clock: s.clock(c), capacity: c.capacity, cost: cost,
		first: c.phase == idle, confirmed: c.jumped == 0,
	}
}

// rest ends a request.
func (c *caller) rest() { c.phase, c.attempts, c.cost, c.write, c.sent, c.since = idle, 0, 0, 0, 0, 0 }

// arrive applies a charge to the table. The caller gets the answer unless it is
// lost.
func (s *callers) arrive(x *callersState, c *caller, lost bool) (ok bool, broken string) {
	if c.phase != waiting {
		return false, ""
	}
	w, before := c.write, x.item
	after := s.apply(before, w, x.generations+1)
	if after == refused {
		if lost { // to lose a refusal changes nothing
			return false, ""
		}
		c.phase, c.write, c.sent, c.since = again, 0, 0, 0
		s.see(x, c)
		return true, ""
	}
	if before == 0 {
		x.generations++
	}
	x.item = after
	sent := &s.writes.all[w]
	broken = x.log.charge(sent.of.Limits, &sent.marks)
	if broken == "" {
		broken = s.items.all[after].broken
	}
	if !lost && broken == "" {
		broken = s.admitted(x, c)
	}
	c.rest()
	return true, broken
}

// admitted gives a caller the snapshot and the receipt of its charge.
func (s *callers) admitted(x *callersState, c *caller) (broken string) {
	s.see(x, c)
	if s.transacts {
		if s.writes.all[c.write].snapshot != nil {
			c.gen = c.since
		}
		c.snapshot = s.assumed(c.write, s.generationOf(x.item))
	}
	r, broken := s.admission(c.write, c.snapshot)
	if c.owing < settlement && s.downs+s.ups > 0 {
		c.owing, c.receipt, c.epoch = receipt, r, x.deletes
	}
	if s.prunes && s.writes.all[c.write].planned.generation == "" {
		c.pruning = s.prune(c.snapshot)
	}
	return broken
}

// see gives a caller the snapshot of the current item.
func (s *callers) see(x *callersState, c *caller) { c.snapshot, c.gen = s.snapshotOf(x.item), x.gen }

// pruneNow applies a pruning write to the table.
func (s *callers) pruneNow(x *callersState, c *caller) bool {
	if c.pruning == 0 {
		return false
	}
	if after := s.apply(x.item, c.pruning, 0); after != refused {
		x.item = after
	}
	c.pruning = 0
	s.see(x, c)
	return true
}

// begin has a caller settle a charge, or charge more for a request of zero
// cost.
func (s *callers) begin(x *callersState, c *caller, delta int8) bool {
	up := s.charges(int(delta))
	free := up && s.free && c.owing == nothing
	switch {
	case c.owing != receipt && !free:
		return false
	case up && x.ups == s.ups, !up && x.downs == s.downs, !up && !s.within(c.receipt, delta):
		return false
	}
	if up {
		x.ups++
	} else {
		x.downs++
	}
	if up && s.free {
		c.receipt = s.freeReceipt(c.snapshot, s.clock(c), c.capacity)
	}
	c.owing, c.delta = settlement, delta
	return s.send(c)
}

// send plans the settlement that is due, and drops it if nothing can be
// corrected any more.
func (s *callers) send(c *caller) bool {
	c.settlement = s.settle(correction{snapshot: c.snapshot, receipt: c.receipt, clock: s.clock(c), capacity: c.capacity, delta: c.delta})
	c.settled = c.clock
	if c.settlement == 0 {
		c.settleUp()
	}
	return true
}

func (c *caller) settleUp() {
	c.owing, c.receipt, c.settlement, c.delta, c.epoch, c.settled = nothing, 0, 0, 0, 0, 0
}

// settleNow applies a settlement to the table. The caller gets the answer
// unless it is lost.
func (s *callers) settleNow(x *callersState, c *caller, lost bool) bool {
	if c.owing != settlement {
		return false
	}
	w, before := &s.writes.all[c.settlement], x.item
	after := s.apply(before, c.settlement, x.generations+1)
	if after == refused {
		return !lost && s.settleAgain(x, c)
	}
	if before == 0 {
		x.generations++
	}
	x.item = after
	if !w.refunds || c.epoch == x.deletes {
		x.log.correct(&w.marks)
	}
	if w.refunds {
		x.gen++
	}
	if c.epoch = -1; !lost || s.mutant == nil || !s.mutant.resend || !w.refunds { // else sent again, which refunds twice
		c.settleUp()
	}
	if !lost {
		s.see(x, c)
	}
	return true
}

// settleAgain plans a refused settlement again, unless the counter of the
// receipt is gone.
func (s *callers) settleAgain(x *callersState, c *caller) bool {
	s.see(x, c)
	r, known := s.current(x.item, c.receipt)
	if !known {
		c.settleUp()
		return true
	}
	c.receipt = r
	return s.send(c)
}

// describe describes a move.
func (s *callers) describe(before *callersState, m move, after *callersState) string {
	c := &before.callers[max(0, m.who)]
	name := string(before.names[max(0, m.who)])
	item := "item: " + s.describeItem(after.item)
	if before.item == after.item {
		item = "refused; " + item
	}
	lost := [...]string{"", ", its answer is lost"}[min(1, m.arg)]
	switch m.kind {
	case ticks:
		return "the clock ticks of " + name
	case jumps:
		return fmt.Sprintf("%s: the clock jumps by %d ticks", name, s.jump)
	case learns:
		return name + ": learns the new capacity"
	case resets:
		return "an operator deletes the item"
	case expires:
		return fmt.Sprintf("the item expires at tick %d", before.reaper)
	case decides:
		q := s.question(c, m.arg)
		return fmt.Sprintf("%s: at tick %d with %s: %s", name, q.clock, describeSnapshot(s.snapshots.all[c.snapshot]), s.describeWrite(s.decide(q)))
	case arrives:
		return fmt.Sprintf("%s: the charge arrives%s; %s", name, lost, item)
	case prunes:
		return name + ": prunes up; " + item
	case corrects:
		r := s.receipts.all[c.receipt]
		slot := describeSlot(r.Slots[0])
		return fmt.Sprintf("%s: at tick %d settles its charge of %s in %q by %v", name, s.clock(c), slot, r.Generation, s.deltas[m.arg])
	}
	return fmt.Sprintf("%s: the settlement arrives%s; %s", name, lost, item)
}
