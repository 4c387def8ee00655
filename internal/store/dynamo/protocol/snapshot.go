package protocol

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// maxAhead is how far a counter may be ahead of a correct clock, besides one slot
// or the time that a bucket takes to refill.
const maxAhead = 3 * time.Second

// Snapshot is a state of a counter that was current at some moment. Snapshots
// are immutable, so callers may share them.
//
// Trade-off: a snapshot of any age is safe to plan a charge from, because the
// write's condition is checked against the item as it is. An old snapshot costs
// a second write more often, and may miss that units were refunded.
//
// A caller that has never read the counter uses a nil Snapshot.
type Snapshot struct {
	// Generation distinguishes a counter from an earlier one of the same key
	// that was deleted. A snapshot of one generation proves nothing about
	// another.
	Generation string
	// ReadAt is when the caller sent its read of the item, by its own clock.
	ReadAt time.Time

	totals []int64       // C by limit, which never shrinks; 0 for a bucket
	states []limit.State // by limit
	holds  *limit.Holds  // nil if the item has never had any
	ttl    int64         // Unix seconds
}

// newSnapshot returns the snapshot of an item whose limits were never charged.
func newSnapshot(generation string, limits []limit.Limit, readAt time.Time) *Snapshot {
	return &Snapshot{
		Generation: generation, ReadAt: readAt,
		totals: make([]int64, len(limits)), states: make([]limit.State, len(limits)),
	}
}

// Read returns the snapshot of an item that counts these limits. It fails with
// ErrForeign if the item cannot have been written by this protocol.
func Read(item Item, limits []limit.Limit, readAt time.Time) (*Snapshot, error) {
	generation, ok := item[attributeGeneration].(*types.AttributeValueMemberS)
	if !ok || generation.Value == "" {
		return nil, fmt.Errorf("%w: attribute %s is missing or no string", ErrForeign, attributeGeneration)
	}
	s := newSnapshot(generation.Value, limits, readAt)
	slots, err := readSlots(item, limits)
	if err != nil {
		return nil, err
	}
	for i := range limits {
		switch l := &limits[i]; {
		case l.Bucket():
			err = s.readBucket(item, i)
		case l.Algorithm != limit.InFlight:
			err = s.readLimit(item, i, l, slots[i])
		}
		if err != nil {
			return nil, err
		}
	}
	if s.holds, err = readHolds(item, len(limits)); err == nil && item[AttributeTTL] != nil {
		s.ttl, err = readNumber(AttributeTTL, item[AttributeTTL])
	}
	return s, err
}

// Limits returns the number of limits that the snapshot holds. It is of use
// only to charges of as many.
func (s *Snapshot) Limits() int { return len(s.states) }

// Fresh reports whether the verdict that the snapshot leads to needs no other
// proof: see limit.Fresh. A store reads an older one again first. Of the charge's own
// hold it proves nothing: that may have been renewed.
func (s *Snapshot) Fresh(c *limit.Charge, now time.Time, v *limit.Verdict) bool {
	return limit.Fresh(s.ReadAt, now) && !(v.ByHolds && now.Sub(s.ReadAt).Abs() > limit.HoldAge) &&
		!(c.Reserves() && s.held().Find(c.Hold.ID) != nil)
}

// FarAhead reports whether a limit was charged later than any correct clock
// could have charged it. Every other caller would have to wait for that slot.
func (s *Snapshot) FarAhead(c *limit.Charge, now time.Time) bool {
	if s == nil {
		return false
	}
	for i := range c.Limits {
		l, state := &c.Limits[i], &s.states[i]
		h, inSlots := state.Newest()
		if inSlots && l.Until(h, now) > maxAhead+l.Granularity || l.Bucket() && state.Expiry(l, now) > maxAhead+l.Drain() {
			return true
		}
	}
	return false
}

// Decide fills in v with the charge's verdict in this state. A denial is final:
// while no clock is behind and nothing was refunded, the table would refuse the
// charge too. An allowed charge still needs the write to succeed.
func (s *Snapshot) Decide(c *limit.Charge, now time.Time, v *limit.Verdict) {
	limit.Decide(s.known(), s.held(), c, now, v)
	if s != nil && v.Before != nil {
		v.Receipt.Generation = s.Generation
	}
}

// neverCharged holds the states of a counter without a snapshot.
var neverCharged [limit.MaxLimits]limit.State

// known returns the snapshot's states by limit. The caller must not change them.
func (s *Snapshot) known() []limit.State {
	if s == nil {
		return neverCharged[:]
	}
	return s.states
}

// Verify returns ErrForeign if the item's state is impossible right after the
// charge: fewer units in the slot than were charged, or more units in the window
// than the capacity. The write's conditions exclude both, so another program has
// changed the item, and the charge must not be admitted.
func (s *Snapshot) Verify(c *limit.Charge, now time.Time) error {
	for i, cost := range c.Costs {
		if l := &c.Limits[i]; cost != 0 && !s.consistent(i, l, now, cost, c.Hold.ID) {
			return fmt.Errorf("%w: limit %q holds less than the %d units just charged, or more than its capacity of %d",
				ErrForeign, l.Name, cost, l.MaxCost())
		}
	}
	return nil
}

// consistent reports whether a charge of limit i, whose last hold has this ID, can
// have left the state.
func (s *Snapshot) consistent(i int, l *limit.Limit, now time.Time, cost int64, hold uint64) bool {
	if l.Algorithm == limit.InFlight {
		return s.holds.Find(hold) != nil && int64(len(s.holds.All())) <= l.Capacity
	}
	return s.states[i].Consistent(l, now, cost)
}

// Admit fills in the verdict of a charge that was made and has left this state.
func (s *Snapshot) Admit(c *limit.Charge, now time.Time, v *limit.Verdict) {
	limit.AfterCharge(s.states, s.holds, s.Generation, c, now, v)
	if !c.Takes(v) {
		v.Receipt.Generation = ""
	}
}

// NewerThan reports whether s is a later state of the same generation: its holds
// have changed more often or, if as often, its totals have grown.
func (s *Snapshot) NewerThan(other *Snapshot) bool {
	if s.Generation != other.Generation || len(s.totals) != len(other.totals) {
		return false
	}
	if changes, others := s.held().Changes(), other.held().Changes(); changes != others {
		return changes > others
	}
	for i, total := range s.totals {
		if total > other.totals[i] {
			return true
		}
	}
	return false
}
