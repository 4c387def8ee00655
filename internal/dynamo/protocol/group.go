package protocol

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Group is several charges of one counter that one write makes together. It
// leaves the item as the charges would, made one after another, and has no other
// form than the write of one charge. So a group contains only charges that such
// a write can make.
//
// Example: three callers want 1, 2 and 1 units in a slot, of which 10 are left.
// The group charges 4 units. The verdicts say that 9, 7 and 6 are left.
type Group struct {
	snapshot *Snapshot
	sum      limit.Charge
	shares   []share
	states   []limit.State // after the charges, as far as the snapshot shows
	parts    []part        // by limit
}

// share is one of the charges of a group.
type share struct {
	now   time.Time
	costs []int64
}

// part is what a group does to one limit.
type part struct {
	last   share // the last that costs something
	latest int64 // of a bucket: the latest time of being full, before the group, that leaves room
}

// NewGroup returns a group of one charge, which the snapshot does not deny.
func NewGroup(s *Snapshot, c *limit.Charge, now time.Time) *Group {
	g := &Group{
		snapshot: s, states: cloneAll(s.known()[:len(c.Limits)]), parts: make([]part, len(c.Limits)),
		sum: limit.Charge{Key: c.Key, Limits: slices.Clone(c.Limits), Costs: make([]int64, len(c.Limits))},
	}
	for i := range g.parts {
		g.parts[i].latest = math.MaxInt64
	}
	g.append(c.Costs, now)
	return g
}

// Add adds a charge of the same counter, unless the snapshot denies it after
// those before, or one write could not make them all.
func (g *Group) Add(c *limit.Charge, now time.Time) bool {
	if now.Before(g.Now()) || !slices.Equal(g.sum.Limits, c.Limits) {
		return false
	}
	var v limit.Verdict
	if limit.Decide(g.states, c, now, &v); !v.Allowed {
		return false
	}
	for i, cost := range c.Costs {
		if !g.fits(i, cost, now) {
			return false
		}
	}
	g.append(c.Costs, now)
	return true
}

// fits reports whether the write of the charges before can make one more.
func (g *Group) fits(i int, cost int64, now time.Time) bool {
	l, before := &g.sum.Limits[i], &g.snapshot.known()[i]
	switch {
	case l.Algorithm == limit.SlidingWindowLog:
		return true // the write has the whole log
	case l.Bucket():
		// The write adds to a time that others may have moved on. If the bucket
		// were full before this charge, it would have to add to another time.
		full, _ := g.states[i].Full()
		return cost == 0 || !draining(before, g.Now()) || full >= now.UnixNano()
	case l.Algorithm == limit.SlidingWindowCounter && !before.Decide(l, g.Now(), g.sum.Costs[i]+cost).Allowed:
		return false // the write has one ceiling, which is that of the earliest charge
	}
	return before.Current(l, g.Now()) == before.Current(l, now)
}

// append makes a charge on the states.
func (g *Group) append(costs []int64, now time.Time) {
	one := share{now, slices.Clone(costs)}
	g.shares = append(g.shares, one)
	for i, cost := range costs {
		if cost == 0 {
			continue
		}
		l, p := &g.sum.Limits[i], &g.parts[i]
		g.sum.Costs[i] += cost
		p.last = one
		if l.Bucket() {
			p.latest = min(p.latest, now.UnixNano()+int64(l.Drain())-g.sum.Costs[i]*int64(l.Interval()))
		}
		g.states[i].Take(l, now, cost)
	}
}

// Charge returns the sum of the charges.
func (g *Group) Charge() *limit.Charge { return &g.sum }

// Now returns the time of the first charge, which is the earliest.
func (g *Group) Now() time.Time { return g.shares[0].now }

// Plan plans the write, as PlanCharge does for one charge. wall is a time after
// all charges were made.
func (g *Group) Plan(wall time.Time, first bool) *Plan {
	p := PlanCharge(g.snapshot, &g.sum, g.Now(), wall, first)
	for _, planned := range p.limits {
		switch planned := planned.(type) {
		case *bucketPlan:
			i := planned.prefix[0] - 'a'
			planned.latest, planned.need = g.parts[i].latest, g.need(int(i))
		case *logPlan:
			planned.log = encodeLog(g.states[planned.prefix[0]-'a'].All())
		}
	}
	return p
}

// need returns by how much the group delays the time at which a bucket is full.
// A bucket that is full stays so until the first charge.
func (g *Group) need(i int) int64 {
	if draining(&g.snapshot.known()[i], g.Now()) {
		return g.sum.Costs[i] * int64(g.sum.Limits[i].Interval())
	}
	full, _ := g.states[i].Full()
	return full - g.Now().UnixNano()
}

// Verify does for a group what Snapshot.Verify does for a charge.
func (g *Group) Verify(after *Snapshot) error {
	for i := range g.parts {
		l, last := &g.sum.Limits[i], &g.parts[i].last
		if g.sum.Costs[i] == 0 {
			continue
		}
		cost := last.costs[i]
		if l.Correctable() {
			cost = g.sum.Costs[i] // all in one slot
		}
		if !after.states[i].Consistent(l, last.now, cost) {
			return fmt.Errorf("%w: limit %q holds less than the %d units just charged, or more than its capacity of %d",
				ErrForeign, l.Name, cost, l.MaxCost())
		}
	}
	return nil
}

// Admit fills in the verdicts of charges that were made and have left the item
// in this state, in the order of Add.
func (g *Group) Admit(after *Snapshot, verdicts []limit.Verdict) {
	states := cloneAll(after.states)
	for i := range g.parts {
		if g.sum.Costs[i] > 0 {
			g.undo(i, &states[i])
		}
	}
	for n, share := range g.shares {
		c, v := &limit.Charge{Limits: g.sum.Limits, Costs: share.costs}, &verdicts[n]
		limit.Decide(states, c, share.now, v)
		limit.Take(states, c, share.now, v)
		v.Receipt.Generation = after.Generation
	}
}

// undo takes the group out of the state of a limit.
func (g *Group) undo(i int, state *limit.State) {
	switch l := &g.sum.Limits[i]; {
	case l.Bucket():
		full, _ := state.Full()
		*state = limit.NewBucket(full - g.need(i))
	case l.Algorithm == limit.SlidingWindowLog:
		*state = g.snapshot.known()[i].Clone() // the condition excludes all other charges since
	default:
		newest, _ := state.Newest()
		state.Refund(newest, g.sum.Costs[i])
	}
}

func cloneAll(states []limit.State) []limit.State {
	clones := make([]limit.State, len(states))
	for i := range states {
		clones[i] = states[i].Clone()
	}
	return clones
}
