package protocol

import (
	"cmp"
	"hash/maphash"
	"testing"
)

// callers is a system of one to three callers, each with its own clock and
// snapshot, which make requests of up to three attempts. Sending and applying a
// write are separate moves, so that stale writes overtake others. An answer may
// be lost.
type callers struct {
	scope
	callers int
	last    int8 // clocks stop here
	skew    int8 // ticks by which clocks may differ
	delay   int8 // ticks within which a charge is applied
	anytime bool // a charge is applied at any time
	deletes int8 // by an operator
	downs   int8 // settlements that refund
	ups     int8 // settlements that charge more
	free    bool // settlements that charge more may settle charges of zero cost
	jumps   int8 // of a clock
	jump    int8 // ticks
	prunes  bool // after charges without a snapshot
	still   bool // no clock ticks while a request is under way: then three attempts decide it
	// transacts has charges sent in transactions, whose snapshots may never
	// have been a state of the item.
	transacts bool

	*oracle
	moves []move
}

// caller is one process. The numbers are the oracle's.
type caller struct {
	snapshot, write, pruning, receipt, settlement uint32

	clock, capacity, phase, attempts, cost, jumped int8

	sent    int8 // when the write was sent, by the caller's clock
	gen     int8 // the system's gen when the snapshot was read
	since   int8 // the gen of the snapshot that a transaction was planned from: refunds since then do not show
	owing   int8 // nothing, receipt or settlement
	delta   int8 // of the settlement
	epoch   int8 // deletions before the receipt
	settled int8 // when the settlement was sent
}

// The phases of a caller's request.
const (
	idle    = iota
	again   // the last attempt was refused
	waiting // for an answer
)

// A caller must still settle nothing, the charge of a receipt, or a settlement
// that was sent and is not applied yet.
const (
	nothing = iota
	receipt
	settlement
)

// callersState is a state of the system.
type callersState struct {
	core
	names [3]byte
}

type core struct {
	item                       uint32
	callers                    [3]caller
	log                        ledger
	reaper                     int8 // the clock of DynamoDB's expiry
	generations                int8 // created
	gen                        int8 // deletions by an operator and settlements that refunded
	deletes, downs, ups, jumps int8
}

func (s *callers) with(t *testing.T) *callers {
	with := *s
	with.oracle, with.moves = newOracle(t, s.scope), s.allMoves()
	return &with
}

func (s *callers) start() (first callersState) {
	first.item, first.generations = s.first()
	for i := range s.callers {
		first.callers[i].clock = max(0, -s.jump)
		first.names[i] = "ABC"[i]
	}
	return first
}

func (s *callers) clock(c *caller) int8 { return c.clock + c.jumped*s.jump }

var seed = maphash.MakeSeed()

func (s *callers) fingerprint(x *callersState) uint64 { return maphash.Comparable(seed, x.core) }

// expand visits the state after each possible move.
func (s *callers) expand(x callersState, visit func(move, callersState, string)) {
	for _, m := range s.moves {
		next := x
		if ok, broken := s.take(&next, m); ok {
			s.normalize(&next)
			visit(m, next, broken)
		}
	}
}

// take makes a move in place if the state allows it, and describes the
// invariant that it breaks, if any.
func (s *callers) take(x *callersState, m move) (ok bool, broken string) {
	c := &x.callers[max(0, m.who)]
	switch m.kind {
	case ticks:
		return s.tick(x, m.who), ""
	case jumps:
		return s.jumpClock(x, c), ""
	case learns:
		return s.learn(c), ""
	case resets:
		return s.reset(x), ""
	case expires:
		return s.expire(x), ""
	case decides:
		return s.request(x, c, m.arg)
	case arrives:
		return s.arrive(x, c, m.arg == 1)
	case prunes:
		return s.pruneNow(x, c), ""
	case corrects:
		return s.begin(x, c, m.arg), ""
	}
	return s.settleNow(x, c, m.arg == 1), ""
}

// The kinds of moves.
const (
	ticks = iota
	jumps
	learns
	resets
	expires
	decides
	arrives
	prunes
	corrects
	settles
)

// allMoves lists every move that some state may allow.
func (s *callers) allMoves() []move {
	all := []move{{kind: ticks, who: -1}, {kind: resets}, {kind: expires}}
	for i := range int8(s.callers) {
		for cost := range s.costs {
			all = append(all, move{kind: decides, who: i, arg: int8(cost)})
		}
		for delta := range s.deltas {
			all = append(all, move{kind: corrects, who: i, arg: int8(delta)})
		}
		for _, kind := range []int8{arrives, settles} {
			all = append(all, move{kind: kind, who: i}, move{kind: kind, who: i, arg: 1})
		}
		for _, kind := range []int8{ticks, jumps, learns, prunes} {
			all = append(all, move{kind: kind, who: i})
		}
	}
	return all
}

func (s *callers) tick(x *callersState, who int8) bool {
	if s.skew == 0 && who > 0 || who < 0 && (s.skew == 0 || !s.ttl) {
		return false
	}
	lo, hi := int8(127), int8(0)
	for i := range int8(s.callers) {
		c := &x.callers[i]
		if s.skew == 0 || i == who {
			c.clock++
		}
		lo, hi = min(lo, c.clock), max(hi, c.clock)
	}
	if s.ttl {
		if s.skew == 0 || who < 0 {
			x.reaper++
		}
		lo, hi = min(lo, x.reaper), max(hi, x.reaper)
	}
	for i := range s.callers {
		c := &x.callers[i]
		late := c.phase == waiting && hi-c.sent > s.delay || c.owing == settlement && s.charges(int(c.delta)) && hi-c.settled > s.delay
		if late && !s.anytime || s.still && c.phase != idle {
			return false
		}
	}
	return hi <= s.last && hi-lo <= s.skew
}

func (s *callers) jumpClock(x *callersState, c *caller) bool {
	if c.jumped == 1 || x.jumps == s.jumps {
		return false
	}
	x.jumps++
	c.jumped = 1
	return true
}

// learn gives a caller the rule's new capacity.
func (s *callers) learn(c *caller) bool {
	if int(c.capacity)+1 == len(s.limits) {
		return false
	}
	c.capacity++
	return true
}

func (s *callers) reset(x *callersState) bool {
	if x.item == 0 || x.deletes == s.deletes {
		return false
	}
	x.deletes++
	x.gen++
	x.item, x.log = 0, ledger{}
	return true
}

func (s *callers) expire(x *callersState) bool {
	if !s.ttl || x.item == 0 || !s.expired(x.item, x.reaper) {
		return false
	}
	x.item = 0
	return true
}

// order compares callers, to sort them: they are interchangeable.
func (c *caller) order(d *caller) int {
	return cmp.Or(cmp.Compare(c.snapshot, d.snapshot), cmp.Compare(c.write, d.write), cmp.Compare(c.pruning, d.pruning),
		cmp.Compare(c.receipt, d.receipt), cmp.Compare(c.settlement, d.settlement), cmp.Compare(c.clock, d.clock),
		cmp.Compare(c.capacity, d.capacity), cmp.Compare(c.phase, d.phase), cmp.Compare(c.attempts, d.attempts),
		cmp.Compare(c.cost, d.cost), cmp.Compare(c.jumped, d.jumped), cmp.Compare(c.sent, d.sent), cmp.Compare(c.gen, d.gen),
		cmp.Compare(c.since, d.since), cmp.Compare(c.owing, d.owing), cmp.Compare(c.delta, d.delta),
		cmp.Compare(c.epoch, d.epoch), cmp.Compare(c.settled, d.settled))
}
