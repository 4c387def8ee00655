package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// maxRemovals bounds the expired slots that one write names: an expression holds at most 4 KB.
const maxRemovals = 200

// write is a charge on its way, planned from one view. It is the protocol of docs/design.md section 3.1 before it is
// spelt as DynamoDB expressions.
type write struct {
	key    string
	life   string // of the view; empty without one
	limits []limitWrite
	ttl    int64 // Unix seconds
}

// limitWrite is what a write does to one limit.
type limitWrite struct {
	letter   string
	slot     int64 // q, the slot to charge
	cost     int64
	capacity int64
	// known says that the view has seen this limit charged; then ceiling is B: the largest total, before the charge, at
	// which the charge keeps the window within the capacity.
	known   bool
	ceiling int64
	// setCredit says that the write may compute the credit anew from ceiling. Otherwise it only draws on it.
	setCredit bool
	expired   []int64 // slots of the view that no window can reach any more
}

// plan says what to write to make the charge, given a view (nil for none) that does not deny it. Limits whose cost is 0
// are left out. keepCredit leaves the credit of a limit alone that the view shows idle: a mostly idle fleet then spares
// itself a second write for each key.
func plan(v *view, c *limit.Charge, now, wall time.Time, keepCredit bool) *write {
	w := &write{key: c.Key, ttl: expiry(v, c, now, wall)}
	if v != nil {
		w.life = v.life
	}
	room := maxRemovals
	for i := range c.Limits {
		if c.Costs[i] == 0 {
			continue
		}
		lw := planLimit(v, i, &c.Limits[i], now, c.Costs[i], keepCredit)
		lw.expired = lw.expired[:min(len(lw.expired), room)]
		room -= len(lw.expired)
		w.limits = append(w.limits, lw)
	}
	return w
}

func planLimit(v *view, i int, l *limit.Limit, now time.Time, cost int64, keepCredit bool) limitWrite {
	w := limitWrite{letter: letter(i), slot: l.SlotAt(now), cost: cost, capacity: l.Capacity}
	if v == nil {
		return w
	}
	h, charged := v.states[i].Newest()
	if !charged {
		return w
	}
	w.known = true
	w.slot = max(w.slot, h)
	first := w.slot - l.Slots() // the window is first … slot
	before := v.totals[i] - v.states[i].Used(l, w.slot)
	w.ceiling = before + l.Capacity - cost
	w.setCredit = first <= h || !keepCredit
	w.expired = slotsBefore(&v.states[i], first)
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

// slack is how long an item outlives its last window: longer than any write can be under way and any clock be wrong.
const slack = 3600 * time.Second

// expiry returns the item's ttl: when the last of its limits' windows has ended, by the wall clock, and the slack. Limits
// that cost nothing now count too, or the charge of a short limit would have a long one's counter deleted under it.
func expiry(v *view, c *limit.Charge, now, wall time.Time) int64 {
	var longest time.Duration
	for i := range c.Limits {
		l := &c.Limits[i]
		q := l.SlotAt(now)
		if v != nil {
			q = v.states[i].Current(l, now)
		}
		longest = max(longest, l.Until(q+l.Slots()+1, now))
	}
	end := wall.Add(longest)
	seconds := end.Unix()
	if end.Nanosecond() > 0 {
		seconds++
	}
	return seconds + int64(slack/time.Second)
}
