package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// PlanSettlement plans the correction of an earlier charge by deltas, one for
// each of its limits, as far as a snapshot (nil for none) shows what can still
// be corrected. It returns nil if nothing can.
//
// A negative delta refunds units. They leave their slot but not the total, so
// from then on they count as charged before the window, and the ceilings of all
// older snapshots stay safe. A bucket returns a turn that has not come, if no
// later charge has moved its time on. A positive delta charges more whatever the
// capacity; later requests pay for it. If the receipt has a hold, the write closes
// it, and is never nil: without the hold it is refused.
//
// The write applies to the generation of the receipt alone. The receipt of a
// charge that took nothing names no generation: its later cost is charged to
// whatever counter there is, which newGeneration marks if it is new.
func PlanSettlement(
	s *Snapshot, c *limit.Charge, r *limit.Receipt, deltas []int64, now, wall time.Time, newGeneration string,
) *Update {
	if s != nil && r.Generation != "" && s.Generation != r.Generation {
		s = nil
	}
	slots := currentSlots(s, c.Limits, now)
	u := newUpdate()
	grows := false
	for i := range c.Limits {
		l := &c.Limits[i]
		if r.Generation != "" {
			slots[i] = max(slots[i], r.Slots[i]) // charged, so the newest slot is no earlier
		}
		switch {
		case deltas[i] < 0 && r.Generation != "" && l.Bucket():
			giveBack(u, s, i, l.Turn(r.Slots[i], -deltas[i]), r.Slots[i], now)
		case deltas[i] < 0 && r.Generation != "" && refundable(s, i, l, r.Slots[i], -deltas[i], now):
			refund(u, prefixOf(i), r.Slots[i], -deltas[i])
		case deltas[i] > 0:
			chargeMore(u, prefixOf(i), l, slots[i], deltas[i])
			grows = true
		}
	}
	if r.Hold != 0 {
		u.closeHold(r)
	}
	if len(u.sets) == 0 {
		return nil
	}
	if grows {
		ttl := expiry(s, c.Limits, &slots, now, wall)
		if r.Hold != 0 {
			ttl = max(ttl, s.lasts())
			u.keepTTL()
		}
		u.set(AttributeTTL, u.number(AttributeTTL, ttl))
	}
	if r.Generation != "" {
		u.require(u.name(attributeGeneration), "=", u.generation(r.Generation))
	} else {
		u.set(attributeGeneration, u.orElse(attributeGeneration, u.generation(newGeneration)))
	}
	return u
}

// refundable reports whether a slot still holds the units and is still in the
// window, as far as a snapshot shows. Outside it a refund would change nothing.
func refundable(s *Snapshot, i int, l *limit.Limit, slot, units int64, now time.Time) bool {
	if s == nil {
		return l.SlotAt(now) <= slot+l.Slots()
	}
	if s.states[i].Current(l, now) > slot+l.Slots() {
		return false
	}
	return s.contains(i, slot, units)
}

// contains reports whether a slot of limit i has the units.
func (s *Snapshot) contains(i int, slot, units int64) bool {
	for held := range s.states[i].All() {
		if held.Number == slot {
			return held.Units >= units
		}
	}
	return false
}

// Shows reports whether the snapshot has the units that a charge took. A snapshot
// without them may be older than the charge, which another process has made. It
// then proves nothing about a refund. A charge of zero cost has no units to show.
func (s *Snapshot) Shows(c *limit.Charge, r *limit.Receipt) bool {
	if r.Generation == "" {
		return true
	}
	if s == nil || s.Generation != r.Generation {
		return false
	}
	for i := range c.Limits {
		if c.Limits[i].Correctable() && c.Costs[i] > 0 && !s.contains(i, r.Slots[i], c.Costs[i]) {
			return false
		}
	}
	return true
}

func refund(u *Update, prefix string, slot, units int64) {
	counter := u.name(slotName(prefix, slot))
	refunded := u.number(prefix+"r", units)
	u.require(counter, ">=", refunded)
	u.set(slotName(prefix, slot), counter, "-", refunded)
}

// giveBack returns a turn that has not come to a bucket, which the charge left
// full at a time. Later charges have moved that time on, and keep it.
func giveBack(u *Update, s *Snapshot, i int, turn, full int64, now time.Time) {
	if known, _ := s.known()[i].Full(); turn < now.UnixNano() || s != nil && known != full {
		return
	}
	attribute := prefixOf(i) + attributeFull
	u.require(u.name(attribute), "=", u.number(prefixOf(i)+"f", full))
	u.set(attribute, u.name(attribute), "-", u.number(prefixOf(i)+"r", full-turn))
}

// chargeMore charges a slot whatever the ceiling. The limit may be new to this
// generation, if its cost was 0 until now.
func chargeMore(u *Update, prefix string, l *limit.Limit, slot, units int64) {
	more, zero := u.number(prefix+"r", units), u.number("zero", 0)
	capacity := u.number(prefix+"n", l.Capacity)
	newest := u.name(prefix + attributeNewest)
	u.require("(attribute_not_exists("+newest+") OR", newest, "<=", u.number(prefix+"q", slot)+")")
	if units >= 1<<32 { // a few thousand of these would leave 63 bits; no window has as many smaller ones
		u.require("(attribute_not_exists("+newest+") OR", u.name(prefix+attributeTotal), "<=", u.number(prefix+"m", maxTotal+maxTotal/2)+")")
	}
	for _, counter := range []string{prefix + attributeTotal, slotName(prefix, slot)} {
		u.set(counter, u.orElse(counter, zero), "+", more)
	}
	u.set(prefix+attributeNewest, ":"+prefix+"q")
	u.set(prefix+attributeCredit, u.orElse(prefix+attributeCredit, capacity), "-", more)
	u.set(prefix+attributeCapacity, u.orElse(prefix+attributeCapacity, capacity))
}
