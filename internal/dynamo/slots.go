package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// maxRemovals bounds the expired slots that one write names: an expression holds at most 4 KB.
const maxRemovals = 200

// slotWrite charges a limit that counts by slots (docs/design.md, section 3.1).
type slotWrite struct {
	letter   string
	slot     int64 // q, the slot to charge
	cost     int64
	capacity int64
	// viewed says that there is a view, known that it has seen this limit charged; then ceiling is B: the largest total,
	// before the charge, at which the charge keeps the window within the capacity.
	viewed, known bool
	ceiling       int64
	// setCredit says that the write may compute the credit anew from ceiling, which it knows then. Otherwise it only draws
	// on the credit.
	setCredit bool
	expired   []int64 // slots of the view that no window can reach any more
}

func planSlots(v *view, i int, l *limit.Limit, now time.Time, cost int64, keepCredit bool) *slotWrite {
	w := &slotWrite{letter: letter(i), slot: l.SlotAt(now), cost: cost, capacity: l.Capacity, viewed: v != nil}
	if v == nil {
		return w
	}
	state := &v.states[i]
	h, charged := state.Newest()
	if !charged {
		return w
	}
	w.known = true
	w.slot = max(w.slot, h)
	w.ceiling = v.totals[i] - state.Used(l, now) + l.Capacity - cost
	first := w.slot - l.Slots() // the window is first … slot
	w.setCredit = first <= h || !keepCredit
	w.expired = slotsBefore(&state.Slots, first)
	return w
}

func slotsBefore(s *limit.Slots, first int64) (numbers []int64) {
	for _, c := range s.All() {
		if c.Number >= first {
			break
		}
		numbers = append(numbers, c.Number)
	}
	return numbers
}

func (w *slotWrite) spell(x *expression, proven bool) {
	x.require(w.condition(x, proven))
	w.update(x)
	for _, expired := range w.expired {
		x.remove(slotName(w.letter, expired))
	}
}

// condition holds if the charge keeps its limit: the total is under the ceiling that the view proves, or the credit that
// an earlier caller worked out covers the cost. Time must not run backwards in either case.
func (w *slotWrite) condition(x *expression, proven bool) string {
	total, newest := x.name(w.letter+attrTotal), x.name(w.letter+attrNewest)
	slot := x.number(w.letter+"q", w.slot)
	switch {
	case proven && w.known:
		return newest + " <= " + slot + " AND " + total + " <= " + x.number(w.letter+"b", w.ceiling)
	case proven || w.viewed && !w.known: // never charged in this life: if it has been since, look again
		return "attribute_not_exists(" + newest + ")"
	}
	credit, capacity := x.name(w.letter+attrCredit), x.name(w.letter+attrCapacity)
	covered := capacity + " = " + x.number(w.letter+"n", w.capacity) + " AND " + credit + " >= " + x.number(w.letter+"c", w.cost)
	if w.known {
		return newest + " <= " + slot + " AND (" + total + " <= " + x.number(w.letter+"b", w.ceiling) + " OR (" + covered + "))"
	}
	return "(attribute_not_exists(" + newest + ") OR (" + newest + " <= " + slot + " AND " + covered + "))"
}

func (w *slotWrite) update(x *expression) {
	cost, zero := x.number(w.letter+"c", w.cost), x.number("zero", 0)
	total, credit, capacity := w.letter+attrTotal, w.letter+attrCredit, w.letter+attrCapacity
	slot := slotName(w.letter, w.slot)
	x.set(slot, x.orElse(slot, zero), "+", cost)
	x.set(w.letter+attrNewest, x.number(w.letter+"q", w.slot))
	switch {
	case w.setCredit:
		x.set(total, x.name(total), "+", cost)
		x.set(credit, x.number(w.letter+"b", w.ceiling), "-", x.name(total))
		x.set(capacity, x.number(w.letter+"n", w.capacity))
	case w.known:
		x.set(total, x.name(total), "+", cost)
		x.set(credit, x.name(credit), "-", cost)
	default:
		x.set(total, x.orElse(total, zero), "+", cost)
		x.set(credit, x.orElse(credit, x.number(w.letter+"n", w.capacity)), "-", cost)
		x.set(capacity, x.orElse(capacity, x.number(w.letter+"n", w.capacity)))
	}
}
