package limit

import (
	"math/bits"
	"time"
)

// weighted returns what a sliding window counter takes for the units of the window that ends now: those of slot q, and of
// those in the slot before it the share that the window still covers, rounded up. To round down would let one unit more
// through than the method's bound.
func (s *Slots) weighted(l *Limit, now time.Time, q int64) int64 {
	elapsed := max(0, -l.Until(q, now)) // a caller behind slot q is at its start
	return s.units(q) + share(s.units(q-1), l.Window-elapsed, l.Window)
}

// units returns what is charged to one slot.
func (s *Slots) units(number int64) int64 {
	for i := len(s.slots) - 1; i >= 0; i-- {
		if s.slots[i].Number == number {
			return s.slots[i].Units
		}
	}
	return 0
}

// share returns ⌈units·part/whole⌉, for part from 0 to whole.
func share(units int64, part, whole time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(units), uint64(part))
	quotient, rest := bits.Div64(hi, lo, uint64(whole))
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}

// retryWeighted returns the time until the weight of the older slot has fallen enough for the cost: in this window, or
// with this window as the older one in the next, or when that one is over too.
func (s *Slots) retryWeighted(l *Limit, now time.Time, q, cost int64) time.Duration {
	for slot := q; slot <= q+1; slot++ {
		room := l.Capacity - cost - s.units(slot)
		if wait, ok := fade(s.units(slot-1), room, l.Window); ok {
			return l.Until(slot, now) + wait
		}
	}
	return l.Until(q+2, now)
}

// fade returns how long after a window's start the share of the units before it first fits the room. ok is false if it
// does not while the window lasts.
func fade(units, room int64, window time.Duration) (wait time.Duration, ok bool) {
	switch {
	case room < 0:
		return 0, false
	case units <= room:
		return 0, true
	}
	hi, lo := bits.Mul64(uint64(room), uint64(window))
	covered, _ := bits.Div64(hi, lo, uint64(units)) // ⌈units·covered/window⌉ ≤ room
	return window - time.Duration(covered), true    // if all of it, the next window has room for the cost from its start
}
