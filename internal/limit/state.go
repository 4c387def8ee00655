package limit

import "time"

// State is what a store keeps of one limit of one key: Slots or, for a token or
// leaky bucket, one number. The zero value has never been charged.
type State struct {
	Slots // without a newest slot for a bucket, whose number is in its units
}

func (s *State) bucket() *bucket { return (*bucket)(&s.units) }

// Full returns when a bucket is full again, in Unix nanoseconds; ok is false for
// a bucket never charged, and for Slots.
func (s *State) Full() (full int64, ok bool) {
	if s.charged() {
		return 0, false
	}
	return s.bucket().full()
}

// Clone returns a state that shares nothing with this one.
func (s *State) Clone() State {
	clone := *s
	clone.older = s.older.clone()
	return clone
}

// Current returns the slot that a charge made now belongs to: the clock's, or
// the newest if the clock is behind it. It is 0 for a bucket, which has no
// slots.
func (s *State) Current(l *Limit, now time.Time) int64 { return s.current(l, now.UnixNano()) }

func (s *State) current(l *Limit, now int64) int64 {
	if l.Slotless() {
		return 0
	}
	return s.Slots.current(l, now)
}

// Decide returns what a charge of cost units would get now. It changes nothing.
func (s *State) Decide(l *Limit, now time.Time, cost int64) Result {
	n := now.UnixNano()
	return s.decide(l, n, s.current(l, n), cost)
}

// Take charges cost units now, whatever the capacity; call Decide first.
func (s *State) Take(l *Limit, now time.Time, cost int64) Result {
	n := now.UnixNano()
	return s.take(l, n, s.current(l, n), cost)
}

func (s *State) decide(l *Limit, now, q, cost int64) Result {
	if l.Bucket() {
		return s.bucket().decide(l, now, cost)
	}
	return s.Slots.decide(l, now, q, cost)
}

// apply is decide, and then take if that is allowed.
func (s *State) apply(l *Limit, now, q, cost int64, r *Result) {
	if !l.Bucket() {
		s.Slots.apply(l, now, q, cost, r)
		return
	}
	if *r = s.bucket().decide(l, now, cost); r.Allowed {
		*r = s.bucket().take(l, now, cost)
	}
}

func (s *State) take(l *Limit, now, q, cost int64) Result {
	if l.Bucket() {
		return s.bucket().take(l, now, cost)
	}
	return s.Slots.take(l, now, q, cost)
}

func (s *State) afterCharge(l *Limit, now, q, cost int64) Result {
	if l.Bucket() {
		return s.bucket().afterCharge(l, now, cost)
	}
	return s.Slots.afterCharge(l, now, q)
}

// Consistent reports whether a charge of cost units, above 0, can have left
// this state now: it contains the cost, and not more than the limit. A store
// checks the answer of a shared table with it. It must not admit a charge that
// is missing there or that exceeds the limit.
func (s *State) Consistent(l *Limit, now time.Time, cost int64) bool {
	if l.Bucket() {
		backlog := s.bucket().backlog(now.UnixNano())
		return cost <= l.Burst && backlog >= time.Duration(cost)*l.Interval() && backlog <= l.Drain()
	}
	used := s.units // a counter's older window is rounded, and differs by clock
	if l.Algorithm != SlidingWindowCounter {
		used = s.Used(l, now)
	}
	return s.number() >= l.SlotAt(now) && s.units >= cost && used <= l.Capacity
}

// Expiry returns the time from now until the state is equivalent to one never
// charged; at least 0.
func (s *State) Expiry(l *Limit, now time.Time) time.Duration {
	if l.Bucket() {
		return s.bucket().backlog(now.UnixNano())
	}
	h, ok := s.Newest()
	if !ok {
		return 0
	}
	return max(0, l.UntilGone(h, now))
}
