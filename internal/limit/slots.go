package limit

import (
	"iter"
	"math"
	"time"
)

// Slot is the number of units charged in one slot of time.
type Slot struct {
	Number int64 // ⌊Unix nanoseconds / granularity⌋
	Units  int64
}

// Slots is the state of the algorithms that count by slots: the units charged
// to one key, by slot. The zero value has never been charged. There is one
// element for each slot in use, at most k+1 of which still count. A log's slots
// are nanoseconds, so it has an element for each time of a charge.
//
// Time never runs backwards for a key: a charge by a clock behind the newest
// slot goes to the newest slot. Otherwise a late caller could charge a window
// for which another caller was denied.
//
// Most keys use one slot, which takes 40 bytes. The others take 16 bytes each.
type Slots struct {
	newest int64 // ^ math.MinInt64, so that the zero value is before every slot
	units  int64 // in the newest slot ever charged, refunded or not
	older  ring
}

// NewSlots returns the state with these counts, which must ascend by number;
// the last is the newest slot ever charged.
func NewSlots(counts []Slot) Slots {
	var s Slots
	if len(counts) > 1 {
		s.older = newRing(len(counts) - 1)
	}
	for _, c := range counts {
		s.open(c.Number, c.Units)
	}
	return s
}

// All returns the counts in ascending order.
func (s *Slots) All() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if !s.charged() {
			return
		}
		for i := range s.older.len() {
			if !yield(*s.older.at(i)) {
				return
			}
		}
		yield(Slot{s.number(), s.units})
	}
}

func (s *Slots) charged() bool { return s.newest != 0 }

// number returns the newest slot.
func (s *Slots) number() int64 { return s.newest ^ math.MinInt64 }

// Newest returns the newest slot ever charged; ok is false for a state never
// charged.
func (s *Slots) Newest() (number int64, ok bool) {
	if !s.charged() {
		return 0, false
	}
	return s.number(), true
}

// current returns the slot that a charge made now belongs to: the clock's, or
// the newest if the clock is behind it.
func (s *Slots) current(l *Limit, now int64) int64 {
	if !s.charged() {
		return l.slotAt(now)
	}
	newest := s.number()
	if width := int64(l.Granularity); l.Calendar == nil && uint64(now-newest*width) < uint64(width) {
		return newest // mostly, and a multiplication is faster than a division
	}
	return max(l.slotAt(now), newest)
}

// Used returns the units that count against the capacity now: those in the
// window, with the older part weighted if the algorithm is
// SlidingWindowCounter.
func (s *Slots) Used(l *Limit, now time.Time) int64 {
	n := now.UnixNano()
	return s.used(l, n, s.current(l, n))
}

func (s *Slots) used(l *Limit, now, q int64) int64 {
	if l.Algorithm == SlidingWindowCounter {
		return s.weighted(l, now, q)
	}
	return s.held(l, q)
}

// held returns the units of the slots that still count in slot q.
func (s *Slots) held(l *Limit, q int64) int64 {
	if l.gone(s.number(), q) {
		return 0
	}
	_, gone := s.older.before(l, q)
	return s.units + s.older.sum - gone
}

func (s *Slots) decide(l *Limit, now, q, cost int64) (r Result) {
	s.answer(l, now, q, cost, s.used(l, now, q), &r)
	return r
}

// answer fills in r, which is decide for known units in use.
func (s *Slots) answer(l *Limit, now, q, cost, used int64, r *Result) {
	room, retryAfter := l.Capacity-used, time.Duration(0)
	allowed := cost == 0 || cost <= room
	if !allowed {
		retryAfter = s.retryAfter(l, now, q, cost, used)
	}
	r.set(allowed, max(0, room), s.reset(l, now), retryAfter, 0)
}

// apply is decide, and then take if that is allowed.
func (s *Slots) apply(l *Limit, now, q, cost int64, r *Result) {
	var used int64
	if l.Algorithm == SlidingWindowCounter {
		used = s.weighted(l, now, q)
	} else { // as used does, without one more call
		used = s.held(l, q)
	}
	if cost == 0 || cost > l.Capacity-used {
		s.answer(l, now, q, cost, used, r)
		return
	}
	s.add(l, q, cost)
	r.set(true, l.Capacity-used-cost, l.untilGone(q, now), 0, 0)
}

// take charges cost units to slot q, whatever the capacity.
func (s *Slots) take(l *Limit, now, q, cost int64) Result {
	if cost != 0 {
		s.add(l, q, cost)
	}
	return s.afterCharge(l, now, q)
}

func (s *Slots) afterCharge(l *Limit, now, q int64) Result {
	return Result{Allowed: true, Remaining: max(0, l.Capacity-s.used(l, now, q)), Reset: s.reset(l, now)}
}

func (s *Slots) add(l *Limit, q, cost int64) {
	if s.number() == q {
		s.units += cost
		return
	}
	s.older.drop(s.older.before(l, q))
	if !s.charged() || l.gone(s.number(), q) {
		s.newest, s.units = q^math.MinInt64, cost
		return
	}
	s.open(q, cost)
}

// open starts a slot, and keeps the newest as an older one.
func (s *Slots) open(q, cost int64) {
	if s.charged() {
		if s.older.room == nil {
			s.older = newRing(1)
		}
		s.older.push(Slot{s.number(), s.units})
	}
	s.newest, s.units = q^math.MinInt64, cost
}

// Refund removes up to units from slot number and returns how many: none once
// the slot has left the state.
func (s *Slots) Refund(number, units int64) int64 {
	if s.number() == number {
		units = min(units, s.units)
		s.units -= units
		return units
	}
	return s.older.refund(number, units)
}

// reset returns the time until the last slot with a unit has left the window.
func (s *Slots) reset(l *Limit, now int64) time.Duration {
	last := s.number()
	if s.units <= 0 {
		var ok bool
		if last, ok = s.older.last(); !ok {
			return 0
		}
	}
	return max(0, l.untilGone(last, now))
}

// retryAfter returns the time until enough units have left the window.
func (s *Slots) retryAfter(l *Limit, now, q, cost, used int64) time.Duration {
	if cost > l.Capacity {
		return Never
	}
	if l.Algorithm == SlidingWindowCounter {
		return s.retryWeighted(l, now, q, cost)
	}
	last := s.number()
	for i := 0; i < s.older.len() && cost > l.Capacity-used; i++ {
		if slot := s.older.at(i); !l.gone(slot.Number, q) {
			used, last = used-slot.Units, slot.Number
		}
	}
	if cost > l.Capacity-used {
		last = s.number()
	}
	return l.untilGone(last, now)
}
