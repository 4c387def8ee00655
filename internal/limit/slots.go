package limit

import (
	"slices"
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
type Slots struct {
	slots []Slot // ascending; the last is the newest ever charged, refunded or not
	sum   int64  // units in slots
}

// NewSlots returns the state with these counts, which must ascend by number;
// the last is the newest slot ever charged. The state keeps the slice.
func NewSlots(counts []Slot) Slots {
	s := Slots{slots: counts}
	for _, c := range counts {
		s.sum += c.Units
	}
	return s
}

// All returns the counts in ascending order. They belong to the state.
func (s *Slots) All() []Slot { return s.slots }

// Newest returns the newest slot ever charged; ok is false for a state never
// charged.
func (s *Slots) Newest() (number int64, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	return s.slots[len(s.slots)-1].Number, true
}

// Current returns the slot that a charge made now belongs to: the clock's, or
// the newest if the clock is behind it.
func (s *Slots) Current(l *Limit, now time.Time) int64 {
	q := l.SlotAt(now)
	if h, ok := s.Newest(); ok {
		return max(q, h)
	}
	return q
}

// expired returns how many slots lie before number, and their units.
func (s *Slots) expired(number int64) (n int, units int64) {
	for n < len(s.slots) && s.slots[n].Number < number {
		units += s.slots[n].Units
		n++
	}
	return n, units
}

// Used returns the units that count against the capacity now: those in the
// window, with the older part weighted if the algorithm is
// SlidingWindowCounter.
func (s *Slots) Used(l *Limit, now time.Time) int64 { return s.used(l, now, s.Current(l, now)) }

func (s *Slots) used(l *Limit, now time.Time, q int64) int64 {
	if l.Algorithm == SlidingWindowCounter {
		return s.weighted(l, now, q)
	}
	_, gone := s.expired(q - l.Slots())
	return s.sum - gone
}

func (s *Slots) decide(l *Limit, now time.Time, q, cost int64) Result {
	used := s.used(l, now, q)
	r := Result{Allowed: cost == 0 || cost <= l.Capacity-used, Remaining: max(0, l.Capacity-used), Reset: s.reset(l, now)}
	if !r.Allowed {
		r.RetryAfter = s.retryAfter(l, now, q, cost)
	}
	return r
}

// take charges cost units to slot q, whatever the capacity.
func (s *Slots) take(l *Limit, now time.Time, q, cost int64) Result {
	if cost != 0 {
		s.add(l, q, cost)
	}
	return s.afterCharge(l, now, q)
}

func (s *Slots) afterCharge(l *Limit, now time.Time, q int64) Result {
	return Result{Allowed: true, Remaining: max(0, l.Capacity-s.used(l, now, q)), Reset: s.reset(l, now)}
}

func (s *Slots) add(l *Limit, q, cost int64) {
	s.sum += cost
	if last := len(s.slots) - 1; last >= 0 && s.slots[last].Number == q {
		s.slots[last].Units += cost
		return
	}
	n, units := s.expired(q - l.Slots())
	s.sum -= units
	s.slots = append(slices.Delete(s.slots, 0, n), Slot{q, cost})
}

// Refund removes up to units from slot number and returns how many: none once
// the slot has left the state.
func (s *Slots) Refund(number, units int64) int64 {
	for i := range s.slots {
		if c := &s.slots[i]; c.Number == number {
			units = min(units, c.Units)
			c.Units -= units
			s.sum -= units
			return units
		}
	}
	return 0
}

// reset returns the time until the last slot with a unit has left the window.
func (s *Slots) reset(l *Limit, now time.Time) time.Duration {
	for i := len(s.slots) - 1; i >= 0; i-- {
		if s.slots[i].Units > 0 {
			return max(0, l.Until(s.slots[i].Number+l.Slots()+1, now))
		}
	}
	return 0
}

// retryAfter returns the time until enough units have left the window.
func (s *Slots) retryAfter(l *Limit, now time.Time, q, cost int64) time.Duration {
	if cost > l.Capacity {
		return Never
	}
	if l.Algorithm == SlidingWindowCounter {
		return s.retryWeighted(l, now, q, cost)
	}
	n, gone := s.expired(q - l.Slots())
	used, last := s.sum-gone, q
	for i := n; i < len(s.slots) && cost > l.Capacity-used; i++ {
		used -= s.slots[i].Units
		last = s.slots[i].Number
	}
	return l.Until(last+l.Slots()+1, now)
}
