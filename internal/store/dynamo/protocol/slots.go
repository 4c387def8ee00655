package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// maxRemovals bounds the expired slots that one write names, because DynamoDB
// accepts at most 4 KB of expression.
const maxRemovals = 200

// slotPlan charges a limit that counts by slots.
type slotPlan struct {
	prefix   string
	slot     int64 // q, the slot to charge
	cost     int64
	capacity int64
	// hasSnapshot says that the plan has a snapshot, and charged that the
	// snapshot shows this limit charged. Only then is ceiling valid: it is B,
	// the largest total before the charge that keeps the window's capacity.
	hasSnapshot, charged bool
	ceiling              int64
	// setCredit computes the credit again from ceiling. Otherwise the write only
	// draws on the credit.
	setCredit bool
	// again says that the snapshot shows the slot to charge. Then the ceiling is
	// exact but for refunds, so no credit covers more; the slot exists, because
	// it is the newest; and the credit only has to shrink.
	again bool
	// surplus is by how much the charge lowers the total besides, which begins a
	// new generation; mostly 0.
	surplus int64
	expired []int64 // slots of the snapshot that no window can reach any more
}

func planSlots(s *Snapshot, i int, l *limit.Limit, now time.Time, cost int64, keepCredit bool) *slotPlan {
	p := &slotPlan{prefix: prefixOf(i), slot: l.SlotAt(now), cost: cost, capacity: l.Capacity, hasSnapshot: s != nil}
	state := &s.known()[i]
	h, charged := state.Newest()
	if !charged {
		return p
	}
	p.charged, p.surplus = true, s.surplus(i)
	p.slot = max(p.slot, h)
	p.ceiling = s.totals[i] - state.Used(l, now) + l.Capacity - cost
	first := p.slot - l.Slots() // the window is first … slot
	p.again = h == p.slot && keepCredit
	p.setCredit = !p.again && (first <= h || !keepCredit)
	p.expired = slotsBefore(&state.Slots, first)
	return p
}

func slotsBefore(s *limit.Slots, first int64) (numbers []int64) {
	for slot := range s.All() {
		if slot.Number >= first {
			break
		}
		numbers = append(numbers, slot.Number)
	}
	return numbers
}

func (p *slotPlan) addTo(u *Update, snapshotOnly bool) {
	u.require(p.condition(u, snapshotOnly))
	p.assign(u)
	for _, expired := range p.expired {
		u.remove(slotName(p.prefix, expired))
	}
}

// condition holds if the charge keeps its limit: the total is at most the
// ceiling that the snapshot proves, or the credit that an earlier caller
// computed covers the cost. Either way the charged slot must not lie before the
// newest one.
func (p *slotPlan) condition(u *Update, snapshotOnly bool) string {
	total, newest := u.name(p.prefix+attributeTotal), u.name(p.prefix+attributeNewest)
	slot := u.number(p.prefix+"q", p.slot)
	switch {
	case p.charged && (snapshotOnly || p.again):
		return newest + " <= " + slot + " AND " + total + " <= " + u.number(p.prefix+"b", p.ceiling)
	case snapshotOnly || p.hasSnapshot && !p.charged:
		// The limit is new to this generation. If it has been charged since,
		// the caller needs another snapshot.
		return "attribute_not_exists(" + newest + ")"
	}
	credit, capacity := u.name(p.prefix+attributeCredit), u.name(p.prefix+attributeCapacity)
	covered := capacity + " = " + u.number(p.prefix+"n", p.capacity) + " AND " + credit + " >= " + u.number(p.prefix+"c", p.cost)
	if p.charged {
		return newest + " <= " + slot + " AND (" + total + " <= " + u.number(p.prefix+"b", p.ceiling) + " OR (" + covered + "))"
	}
	return "(attribute_not_exists(" + newest + ") OR (" + newest + " <= " + slot + " AND " + covered + "))"
}

func (p *slotPlan) assign(u *Update) {
	cost := u.number(p.prefix+"c", p.cost)
	total, credit, capacity := p.prefix+attributeTotal, p.prefix+attributeCredit, p.prefix+attributeCapacity
	slot := slotName(p.prefix, p.slot)
	if p.again {
		u.set(slot, u.name(slot), "+", cost)
	} else {
		u.set(slot, u.orElse(slot, u.number("zero", 0)), "+", cost)
		u.set(p.prefix+attributeNewest, u.number(p.prefix+"q", p.slot))
	}
	more := cost
	if p.surplus > 0 {
		more = u.number(p.prefix+"m", p.cost-p.surplus)
	}
	switch {
	case p.setCredit:
		u.set(total, u.name(total), "+", more)
		u.set(credit, u.number(p.prefix+"b", p.ceiling), "-", u.name(total))
		u.set(capacity, u.number(p.prefix+"n", p.capacity))
	case p.charged:
		u.set(total, u.name(total), "+", more)
		u.set(credit, u.name(credit), "-", cost)
	default:
		u.set(total, u.orElse(total, u.number("zero", 0)), "+", cost)
		u.set(credit, u.orElse(credit, u.number(p.prefix+"n", p.capacity)), "-", cost)
		u.set(capacity, u.orElse(capacity, u.number(p.prefix+"n", p.capacity)))
	}
}
