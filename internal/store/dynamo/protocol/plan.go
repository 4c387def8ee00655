package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Plan is a charge planned from one snapshot, before Update formats it as
// DynamoDB expressions.
type Plan struct {
	generation string      // the snapshot's; empty without one
	successor  string      // the generation that the write begins; mostly empty
	limits     []limitPlan // the limits that cost something
	ttl        int64       // Unix seconds
	// snapshotOnly excludes the credit: the snapshot alone must prove the room,
	// because a transaction returns no item that Verify could check. Without a
	// snapshot the counter must be new.
	snapshotOnly bool
	holds        *holdPlan // nil if the charge opens none
}

// limitPlan is what a plan does to one limit.
type limitPlan interface {
	// addTo adds the condition under which the charge keeps the limit, and the
	// assignments that make it. snapshotOnly is the plan's.
	addTo(u *Update, snapshotOnly bool)
}

// PlanCharge plans the write of a charge that s does not deny; s may be nil.
// Limits whose cost is 0 take no part. wall is the real time, which the item
// expires by; it may differ from now in a replay.
//
// A first attempt leaves the credit of an idle limit alone, which saves a fleet
// a second write on each key. Later attempts compute it again, because callers
// without a snapshot would keep failing otherwise.
func PlanCharge(s *Snapshot, c *limit.Charge, now, wall time.Time, first bool) *Plan {
	slots := currentSlots(s, c.Limits, now)
	p := &Plan{ttl: expiry(s, c, &slots, now, wall)}
	if c.Reserves() || len(s.held().All()) > 0 {
		p.ttl = max(p.ttl, s.lasts())
	}
	if s != nil {
		p.generation = s.Generation
	}
	if c.Reserves() {
		p.holds = planHolds(s, []limit.Hold{c.HoldAt(now, &slots)}, c.MostHolds(), now)
		p.holds.full = !s.opens(c, now)
	}
	removals := maxRemovals
	for i := range c.Limits {
		l, cost := &c.Limits[i], c.Costs[i]
		switch {
		case cost == 0, l.Algorithm == limit.InFlight:
		case l.Bucket():
			p.limits = append(p.limits, planBucket(s, i, l, now, cost))
		case l.Algorithm == limit.SlidingWindowLog:
			p.limits = append(p.limits, planLog(s, i, l, now, cost))
		default:
			sp := planSlots(s, i, l, now, cost, first)
			sp.expired = sp.expired[:min(len(sp.expired), removals)]
			removals -= len(sp.expired)
			if sp.surplus > 0 {
				p.successor = successor(p.generation)
			}
			p.limits = append(p.limits, sp)
		}
	}
	return p
}

// Update formats the plan. newGeneration marks the item if the write creates
// it.
func (p *Plan) Update(newGeneration string) *Update {
	u := newUpdate()
	if p.generation != "" {
		u.require(u.name(attributeGeneration), "=", u.generation(p.generation))
		if p.successor != "" {
			u.set(attributeGeneration, u.text("g", p.successor))
		}
	} else {
		u.set(attributeGeneration, u.orElse(attributeGeneration, u.generation(newGeneration)))
		if p.snapshotOnly {
			u.require("attribute_not_exists(" + u.name(attributeGeneration) + ")")
		}
	}
	for _, l := range p.limits {
		l.addTo(u, p.snapshotOnly)
	}
	u.set(AttributeTTL, u.number(AttributeTTL, p.ttl))
	if p.holds != nil {
		p.holds.addTo(u)
	}
	return u
}

// currentSlots returns q for each limit: the slot that a charge made now
// belongs to, as far as the snapshot shows.
func currentSlots(s *Snapshot, limits []limit.Limit, now time.Time) (slots [limit.MaxLimits]int64) {
	for i := range limits {
		slots[i] = s.known()[i].Current(&limits[i], now)
	}
	return slots
}

// slack is how long an item outlives its last window: longer than any write can
// be under way and any clock be wrong. With less, DynamoDB could delete an item
// whose snapshot still passes a condition.
const slack = 3600 * time.Second

// expiry returns the item's ttl in Unix seconds: when the last of its limits
// has left its window by the wall clock, and slack. Limits that cost nothing
// now are included, or charging a short limit would delete the counter of a
// long one.
func expiry(s *Snapshot, c *limit.Charge, slots *[limit.MaxLimits]int64, now, wall time.Time) int64 {
	longest := c.Hold.For // of a hold that another process may have opened
	for i := range c.Limits {
		switch l := &c.Limits[i]; {
		case l.Bucket(): // no charge drains a bucket further than Drain
			longest = max(longest, l.Drain(), s.known()[i].Expiry(l, now))
		case l.Algorithm == limit.InFlight:
			longest = max(longest, l.Window)
		default:
			longest = max(longest, l.UntilGone(slots[i], now))
		}
	}
	return ttl(longest, wall)
}

// ttl returns the ttl of an item whose last window or hold lasts so long from now.
// It is rounded up.
func ttl(longest time.Duration, wall time.Time) int64 {
	return wall.Add(longest+time.Second-1).Unix() + int64(slack/time.Second)
}
