package protocol

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Batch collects charges of one counter that one write makes together. The write
// has the form of one charge, and leaves the item as if the charges were made one
// after another. So a batch contains only charges that such a write can make.
//
// Example: three callers want 1, 2 and 1 units in a slot, of which 10 are left.
// The batch charges 4 units. The verdicts say that 9, 7 and 6 are left.
type Batch struct {
	snapshot *Snapshot
	sum      limit.Charge
	shares   []share
	states   []limit.State // after the charges, as far as the snapshot shows
	holds    *limit.Holds  // the same
	opened   []limit.Hold
	parts    []part // by limit
}

// share is one of the charges of a batch.
type share struct {
	now   time.Time
	costs []int64
	hold  limit.Opening // zero if the charge opens none
}

// part is what a batch does to one limit.
type part struct {
	last share // the last that costs something
	// Of a bucket: when it may be full, before the batch. After latest there is no
	// room. Before earliest, one of the charges would find it full.
	earliest, latest int64
}

// NewBatch returns a batch of one charge, which the snapshot does not deny.
func NewBatch(s *Snapshot, c *limit.Charge, now time.Time) *Batch {
	b := &Batch{
		snapshot: s, states: cloneAll(s.known()[:len(c.Limits)]), parts: make([]part, len(c.Limits)),
		holds: s.held().Clone(),
		sum:   limit.Charge{Key: c.Key, Limits: slices.Clone(c.Limits), Costs: make([]int64, len(c.Limits)), Hold: c.Hold},
	}
	for i := range b.parts {
		b.parts[i].earliest, b.parts[i].latest = math.MinInt64, math.MaxInt64
	}
	b.append(c, now)
	return b
}

// Add adds a charge of the same counter, unless the snapshot denies it after
// those before, or one write could not make them all.
func (b *Batch) Add(c *limit.Charge, now time.Time) bool {
	if now.Before(b.Now()) || !slices.Equal(b.sum.Limits, c.Limits) || !b.fitsHold(&c.Hold) {
		return false
	}
	var v limit.Verdict
	if limit.Decide(b.states, b.holds, c, now, &v); !v.Allowed || v.Before != nil || c.Reserves() && v.Receipt.Hold == 0 {
		return false
	}
	for i, cost := range c.Costs {
		if !b.fits(i, cost, now) {
			return false
		}
	}
	b.append(c, now)
	return true
}

// fitsHold reports whether the write can open one more hold like those before.
func (b *Batch) fitsHold(o *limit.Opening) bool {
	first := b.sum.Hold
	if first.ID != 0 && (len(b.opened) == 0 || b.snapshot.excess(len(b.opened)+1, b.sum.MostHolds()) > maxEnded) {
		return false // there is no room, or the write cannot remove enough that have ended
	}
	return (o.ID != 0) == (first.ID != 0) && o.For == first.For && o.Most == first.Most && len(b.opened) < maxOpened
}

// fits reports whether the write of the charges before can make one more.
func (b *Batch) fits(i int, cost int64, now time.Time) bool {
	l, before := &b.sum.Limits[i], &b.snapshot.known()[i]
	switch {
	case l.Algorithm == limit.SlidingWindowLog:
		return true // the write has the whole log
	case l.Bucket():
		// The write adds to a time that others may have moved on. If the bucket
		// were full before this charge, it would have to add to another time.
		full, _ := b.states[i].Full()
		return cost == 0 || !draining(before, b.Now()) || full >= now.UnixNano()
	case l.Algorithm == limit.SlidingWindowCounter && !before.Decide(l, b.Now(), b.sum.Costs[i]+cost).Allowed:
		return false // the write has one ceiling, which is that of the earliest charge
	}
	return before.Current(l, b.Now()) == before.Current(l, now)
}

// append makes a charge on the states and holds.
func (b *Batch) append(c *limit.Charge, now time.Time) {
	one := share{now: now, costs: slices.Clone(c.Costs)}
	if slots := currentSlots(b.snapshot, c.Limits, now); c.Reserves() && b.holds.Live(now) < c.MostHolds() {
		one.hold = c.Hold
		b.opened = append(b.opened, c.HoldAt(now, &slots))
		b.holds.Open(b.opened[len(b.opened)-1])
	}
	b.shares = append(b.shares, one)
	for i, cost := range c.Costs {
		l, p := &b.sum.Limits[i], &b.parts[i]
		if cost == 0 {
			continue
		}
		if l.Algorithm == limit.InFlight {
			b.sum.Costs[i], p.last = 1, one
			continue
		}
		if l.Bucket() {
			p.earliest = max(p.earliest, now.UnixNano()-b.sum.Costs[i]*int64(l.Interval()))
		}
		b.sum.Costs[i] += cost
		p.last = one
		if l.Bucket() {
			p.latest = min(p.latest, now.UnixNano()+int64(l.Drain())-b.sum.Costs[i]*int64(l.Interval()))
		}
		b.states[i].Take(l, now, cost)
	}
}

// Charge returns the sum of the charges.
func (b *Batch) Charge() *limit.Charge { return &b.sum }

// Now returns the time of the first charge, which is the earliest.
func (b *Batch) Now() time.Time { return b.shares[0].now }

// Plan plans the write, as PlanCharge does for one charge. wall is a time after
// all charges were made.
func (b *Batch) Plan(wall time.Time, first bool) *Plan {
	p := PlanCharge(b.snapshot, &b.sum, b.Now(), wall, first)
	if len(b.opened) > 0 {
		p.holds = planHolds(b.snapshot, b.opened, b.sum.MostHolds(), b.Now())
	}
	for _, planned := range p.limits {
		switch planned := planned.(type) {
		case *bucketPlan:
			i := planned.prefix[0] - 'a'
			planned.latest, planned.need = b.parts[i].latest, b.need(int(i))
			if planned.draining {
				planned.now = b.parts[i].earliest - 1
			}
		case *logPlan:
			planned.log = encodeLog(b.states[planned.prefix[0]-'a'].All())
		}
	}
	return p
}

// need returns by how much the batch delays the time at which a bucket is full.
// A bucket that is full stays so until the first charge.
func (b *Batch) need(i int) int64 {
	if draining(&b.snapshot.known()[i], b.Now()) {
		return b.sum.Costs[i] * int64(b.sum.Limits[i].Interval())
	}
	full, _ := b.states[i].Full()
	return full - b.Now().UnixNano()
}

// Verify returns ErrForeign if the item's state is impossible right after the
// batch, as Snapshot.Verify does for one charge.
func (b *Batch) Verify(after *Snapshot) error {
	for i := range b.parts {
		l, last := &b.sum.Limits[i], &b.parts[i].last
		if b.sum.Costs[i] == 0 {
			continue
		}
		cost := last.costs[i]
		if l.Correctable() {
			cost = b.sum.Costs[i] // all in one slot
		}
		if !after.consistent(i, l, last.now, cost, last.hold.ID) {
			return fmt.Errorf("%w: limit %q holds less than the %d units just charged, or more than its capacity of %d",
				ErrForeign, l.Name, cost, l.MaxCost())
		}
	}
	return nil
}

// Admit fills in the verdicts of charges that were made and have left the item
// in this state, in the order of Add.
func (b *Batch) Admit(after *Snapshot, verdicts []limit.Verdict) {
	states, holds := cloneAll(after.states), after.held().Clone()
	for _, opened := range b.opened {
		_ = holds.Close(&limit.Receipt{Hold: opened.ID, Opened: opened.Opened})
	}
	for i := range b.parts {
		if b.sum.Costs[i] > 0 {
			b.undo(i, &states[i])
		}
	}
	for n, share := range b.shares {
		c, v := &limit.Charge{Limits: b.sum.Limits, Costs: share.costs, Hold: share.hold}, &verdicts[n]
		limit.Decide(states, holds, c, share.now, v)
		limit.Take(states, holds, c, share.now, v)
		v.Receipt.Generation = after.Generation
	}
}

// undo removes the batch from the state of a limit.
func (b *Batch) undo(i int, state *limit.State) {
	switch l := &b.sum.Limits[i]; {
	case l.Bucket():
		full, _ := state.Full()
		*state = limit.NewBucket(full - b.need(i))
	case l.Algorithm == limit.InFlight: // its holds are no part of the state
	case l.Algorithm == limit.SlidingWindowLog:
		*state = b.snapshot.known()[i].Clone() // the condition excludes all other charges since
	default:
		newest, _ := state.Newest()
		state.Refund(newest, b.sum.Costs[i])
	}
}

func cloneAll(states []limit.State) []limit.State {
	clones := make([]limit.State, len(states))
	for i := range states {
		clones[i] = states[i].Clone()
	}
	return clones
}
