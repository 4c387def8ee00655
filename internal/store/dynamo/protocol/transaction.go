package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// PlanTransaction plans a charge as a part of a transaction. DynamoDB returns
// no item for one that goes through, so the snapshot alone must prove the room,
// and a counter without a snapshot must be new. newGeneration marks it then.
func PlanTransaction(s *Snapshot, c *limit.Charge, now, wall time.Time, newGeneration string) *Update {
	p := PlanCharge(s, c, now, wall, false)
	p.snapshotOnly = true
	return p.Update(newGeneration)
}

// AfterTransaction returns the snapshot that the caller of a transaction keeps
// once it went through: s with the charge added. The item need never have been
// in that state, because others may have charged it since s. But no number in
// it is above the item's, which is all that a snapshot has to guarantee. It is
// as old as s. If s is nil, the counter is new and has the generation given.
func (s *Snapshot) AfterTransaction(c *limit.Charge, now time.Time, newGeneration string) *Snapshot {
	after := newSnapshot(newGeneration, c.Limits, now)
	if s != nil {
		after.Generation, after.ReadAt = s.Generation, s.ReadAt
	}
	if slots := currentSlots(s, c.Limits, now); s.opens(c, now) {
		after.holds = s.held().Clone()
		after.holds.Open(c.HoldAt(now, &slots))
		after.ttl = max(s.lasts(), ttl(c.Hold.For, now))
	} else if s != nil {
		after.holds, after.ttl = s.holds, s.ttl
	}
	for i := range c.Limits {
		if s != nil {
			after.totals[i], after.states[i] = s.totals[i], s.states[i].Clone()
			if l := &c.Limits[i]; c.Costs[i] > 0 && l.Correctable() && s.surplus(i) > 0 {
				after.totals[i] -= s.surplus(i)
				after.Generation = successor(s.Generation)
			}
		}
		if c.Limits[i].Algorithm == limit.InFlight {
			continue
		}
		after.states[i].Take(&c.Limits[i], now, c.Costs[i])
		if !c.Limits[i].Bucket() {
			after.totals[i] += c.Costs[i]
		}
	}
	return after
}
