package limit

import (
	"slices"
	"time"
)

// State is what a store keeps of one limit of one key: Slots, or a Bucket where the algorithm is one. The zero value has
// never been charged.
type State struct {
	Slots
	Bucket
}

// Clone returns a state that shares nothing with this one.
func (s *State) Clone() State {
	return State{Slots: Slots{slots: slices.Clone(s.slots), sum: s.sum}, Bucket: s.Bucket}
}

// Current returns the slot that a charge made now belongs to: the clock's, or the newest if the clock is behind it. A
// bucket has none, and it is 0.
func (s *State) Current(l *Limit, now time.Time) int64 {
	if l.Bucket() {
		return 0
	}
	return s.Slots.Current(l, now)
}

// Judge says what a charge of cost units would get now. It changes nothing.
func (s *State) Judge(l *Limit, now time.Time, cost int64) Result {
	return s.judge(l, now, s.Current(l, now), cost)
}

// Take charges cost units now, whatever the capacity says: ask Judge first. It returns what is left.
func (s *State) Take(l *Limit, now time.Time, cost int64) Result {
	return s.take(l, now, s.Current(l, now), cost)
}

func (s *State) judge(l *Limit, now time.Time, q, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.judge(l, now, cost)
	}
	return s.Slots.judge(l, now, q, cost)
}

func (s *State) take(l *Limit, now time.Time, q, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.take(l, now, cost)
	}
	return s.Slots.take(l, now, q, cost)
}

func (s *State) left(l *Limit, now time.Time, q, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.left(l, now, cost)
	}
	return s.Slots.left(l, now, q)
}

// Holds reports whether the state can be what a charge of cost units, above 0, has left at this moment: the cost is in it,
// and no more than the limit allows. A store asks it of what it reads back, because a charge that does not show, or that
// broke its limit, must not be admitted.
func (s *State) Holds(l *Limit, now time.Time, cost int64) bool {
	if l.Bucket() {
		backlog := s.backlog(now)
		return cost <= l.Burst && backlog >= time.Duration(cost)*l.Interval() && backlog <= l.Drain()
	}
	if len(s.slots) == 0 {
		return false
	}
	newest := s.slots[len(s.slots)-1]
	used := newest.Units // what the older window of a weighted counter counts for is rounded, and differs by clock
	if l.Algorithm != SlidingWindowCounter {
		used = s.Used(l, now)
	}
	return newest.Number >= l.SlotAt(now) && newest.Units >= cost && used <= l.Capacity
}

// Expiry returns the time from now until the state says nothing any more that a state never charged would not say; at
// least 0.
func (s *State) Expiry(l *Limit, now time.Time) time.Duration {
	if l.Bucket() {
		return s.Bucket.backlog(now)
	}
	h, ok := s.Newest()
	if !ok {
		return 0
	}
	return max(0, l.Until(h+l.Slots()+1, now))
}
