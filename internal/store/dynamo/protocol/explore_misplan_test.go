package protocol

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// Mutations that only the exploration can make: they need the plan, or the
// snapshot that a write was planned from.

func eachSlot(p *Plan, f func(*slotPlan)) {
	for _, l := range p.limits {
		if s, ok := l.(*slotPlan); ok {
			f(s)
		}
	}
}

// usedFrom returns the units in a snapshot's slots from first on.
func usedFrom(s *Snapshot, i int, first int64) (units int64) {
	for slot := range s.states[i].All() {
		if slot.Number >= first {
			units += slot.Units
		}
	}
	return units
}

// ownSlot charges the slot of the caller's clock, even if the snapshot shows a
// later one.
func ownSlot(p *Plan, s *Snapshot, c *limit.Charge, now time.Time) {
	eachSlot(p, func(sp *slotPlan) {
		if l := &c.Limits[index(sp.prefix)]; sp.charged && l.Algorithm != limit.SlidingWindowCounter {
			sp.slot = l.SlotAt(now)
		}
	})
	ownWindow(p, s, c, now)
}

// ownWindow computes the ceiling from the window that ends at the caller's
// clock.
func ownWindow(p *Plan, s *Snapshot, c *limit.Charge, now time.Time) {
	eachSlot(p, func(sp *slotPlan) {
		if i := index(sp.prefix); sp.charged && c.Limits[i].Algorithm != limit.SlidingWindowCounter {
			l := &c.Limits[i]
			first := l.SlotAt(now) - l.Slots()
			sp.ceiling = s.totals[i] - usedFrom(s, i, first) + l.Capacity - sp.cost
			sp.expired = slotsBefore(&s.states[i].Slots, first)
		}
	})
}

// floorTail rounds the weight of the older window down.
func floorTail(p *Plan, s *Snapshot, c *limit.Charge, now time.Time) {
	eachSlot(p, func(sp *slotPlan) {
		i := index(sp.prefix)
		l := &c.Limits[i]
		if !sp.charged || l.Algorithm != limit.SlidingWindowCounter {
			return
		}
		newer := usedFrom(s, i, sp.slot)
		older := usedFrom(s, i, sp.slot-1) - newer
		elapsed := max(0, -l.Until(sp.slot, now))
		sp.ceiling = s.totals[i] - newer - older*int64(l.Window-elapsed)/int64(l.Window) + l.Capacity - sp.cost
	})
}

// ttlFromClock computes the ttl from the slot of the caller's clock.
func ttlFromClock(p *Plan, _ *Snapshot, c *limit.Charge, now time.Time) {
	own := currentSlots(nil, c.Limits, now)
	p.ttl = expiry(nil, c.Limits, &own, now, now)
}

// ttlOfCharged leaves the limits of zero cost out of the ttl.
func ttlOfCharged(p *Plan, s *Snapshot, c *limit.Charge, now time.Time) {
	slots := currentSlots(s, c.Limits, now)
	p.ttl = 0
	for i := range c.Limits {
		if c.Costs[i] > 0 {
			one := [limit.MaxLimits]int64{slots[i]}
			p.ttl = max(p.ttl, expiry(nil, c.Limits[i:i+1], &one, now, now))
		}
	}
}

func removeNothing(p *Plan, _ *Snapshot, _ *limit.Charge, _ time.Time) {
	eachSlot(p, func(sp *slotPlan) { sp.expired = nil })
}

// creditFromSnapshot computes the credit from the snapshot's total instead of
// the current one.
func creditFromSnapshot(w *sent) dynamomodel.Mutation {
	if w.snapshot == nil {
		return nil
	}
	return dynamomodel.WithNumber(":Xold",
		func(*types.Update, string) int64 { return w.snapshot.totals[0] }, dynamomodel.Assignment(":Xb - #XC", ":Xb - :Xold"))
}

// removeCounted has pruning remove the oldest slot that is still in the window.
func removeCounted(w *sent) dynamomodel.Mutation {
	newest, _ := w.snapshot.states[0].Newest()
	return dynamomodel.Remove(slotName("a", newest-w.of.Limits[0].Slots()))
}

// refundInWindow refuses to refund units that have left the window.
func refundInWindow(w *sent) dynamomodel.Mutation {
	l := &w.of.Limits[0]
	last := l.SlotAt(dawn) + int64(w.marks[0].at) + l.Slots()
	return func(u *types.Update) {
		u.ExpressionAttributeNames["#aH"], u.ExpressionAttributeValues[":last"] = "aH", number(last)
		*u.ConditionExpression += " AND #aH <= :last"
	}
}

// setSlot sets the charged slot to the cost instead of adding the cost to it.
func setSlot(u *types.Update) {
	for assignment := range strings.SplitSeq(strings.TrimPrefix(*u.UpdateExpression, "SET "), ", #") {
		name, _, _ := strings.Cut(strings.TrimPrefix(assignment, "#"), " = ")
		if _, ok := slotOf(name); ok {
			added := "#" + name + " = if_not_exists(#" + name + ", :zero) + :ac"
			*u.UpdateExpression = strings.ReplaceAll(*u.UpdateExpression, added, "#"+name+" = :ac")
			return
		}
	}
}

// setKnownSlot does so where the snapshot shows the slot.
func setKnownSlot(u *types.Update) {
	*u.UpdateExpression = known.ReplaceAllString(*u.UpdateExpression, "$1 = :ac")
}

var known = regexp.MustCompile(`(#a[0-9a-z_]+) = #a[0-9a-z_]+ \+ :ac\b`)

// everySlotKnown takes every slot for one that the snapshot shows.
func everySlotKnown(p *Plan, _ *Snapshot, _ *limit.Charge, _ time.Time) {
	eachSlot(p, func(sp *slotPlan) { sp.again, sp.setCredit = sp.charged, false })
}

// sameGeneration lowers a total within its generation.
func sameGeneration(p *Plan, _ *Snapshot, _ *limit.Charge, _ time.Time) { p.successor = "" }

// lowerStill lowers a total below the units in slots.
func lowerStill(p *Plan, _ *Snapshot, _ *limit.Charge, _ time.Time) {
	eachSlot(p, func(sp *slotPlan) {
		if sp.surplus > 0 {
			sp.surplus++
		}
	})
}

// oldTotal has the snapshot after a transaction keep the total that was lowered.
func oldTotal(s *Snapshot) {
	if strings.Contains(s.Generation, generationMark) {
		s.totals[0] += maxTotal
	}
}

// oneGeneration gives every generation the same mark.
func oneGeneration(u *types.Update) {
	u.ExpressionAttributeValues[":e"] = &types.AttributeValueMemberS{Value: "one"}
}

// sameVersion does not change a log's version.
func sameVersion(u *types.Update) {
	if u.ExpressionAttributeValues[":av"] != nil {
		u.ExpressionAttributeValues[":ac"] = u.ExpressionAttributeValues[":av"]
	}
}

// belowZero drops the condition that a slot has the refunded units.
func belowZero(u *types.Update) {
	if _, rest, found := strings.Cut(*u.ConditionExpression, " >= :ar AND "); found {
		*u.ConditionExpression = rest
	}
}

// forgetOlder drops the units of other callers from a snapshot's slots, and not
// from its total.
func forgetOlder(s *Snapshot) {
	slots := slices.Collect(s.states[0].All())
	s.states[0].Slots = limit.NewSlots(slots[len(slots)-1:])
}

// countTwice has a snapshot count its charge twice.
func countTwice(s *Snapshot) { s.totals[0]++ }
