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

// Judge says what a charge of cost units would get now. It changes nothing.
func (s *State) Judge(l *Limit, now time.Time, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.judge(l, now, cost)
	}
	return s.Slots.judge(l, now, s.Current(l, now), cost)
}

// Take charges cost units now, whatever the capacity says: ask Judge first. It returns what is left.
func (s *State) Take(l *Limit, now time.Time, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.take(l, now, cost)
	}
	return s.Slots.take(l, now, s.Current(l, now), cost)
}

// Left returns what is left now to a charge of cost units that was made at this moment.
func (s *State) Left(l *Limit, now time.Time, cost int64) Result {
	if l.Bucket() {
		return s.Bucket.left(l, now, cost)
	}
	return s.Slots.left(l, now, s.Current(l, now))
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
