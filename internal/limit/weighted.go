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

// retryWeighted returns the time until the weight of the older slot has fallen enough for the cost: in this window or,
// where this one has too much of its own, with it as the older one in the next.
func (s *Slots) retryWeighted(l *Limit, now time.Time, q, cost int64) time.Duration {
	if room := l.Capacity - cost - s.units(q); room >= 0 {
		return l.Until(q, now) + fade(s.units(q-1), room, l.Window)
	}
	return l.Until(q+1, now) + fade(s.units(q), l.Capacity-cost, l.Window)
}

// fade returns how long after a window's start the share of the units before it, which are more than the room, first fits
// the room.
func fade(units, room int64, window time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(room), uint64(window))
	covered, _ := bits.Div64(hi, lo, uint64(units)) // the most that may be covered: ⌈units·covered/window⌉ ≤ room
	return window - time.Duration(covered)
}
