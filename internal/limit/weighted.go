package limit

import (
	"math/bits"
	"time"
)

// weighted returns a sliding window counter's estimate of the units in the
// window that ends now: the units of slot q, and the share of the slot before
// it that the window still covers. It rounds that share up; rounding down would
// let one unit too many through.
//
// 15 s into a minute, with 40 units before and 10 since, the estimate is
// ⌈40·45/60⌉ + 10 = 40.
func (s *Slots) weighted(l *Limit, now time.Time, q int64) int64 {
	elapsed := max(0, -l.Until(q, now)) // a caller behind slot q counts as at its start
	return s.units(q) + share(s.units(q-1), l.Window-elapsed, l.Window)
}

// units returns the units of one slot.
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

// retryWeighted returns the time until the older slot weighs little enough for
// the cost. If slot q alone leaves no room, that is in the next window, where q
// is the older slot.
func (s *Slots) retryWeighted(l *Limit, now time.Time, q, cost int64) time.Duration {
	if room := l.Capacity - cost - s.units(q); room >= 0 {
		return l.Until(q, now) + fade(s.units(q-1), room, l.Window)
	}
	return l.Until(q+1, now) + fade(s.units(q), l.Capacity-cost, l.Window)
}

// fade returns how long after a window's start the share of the units before it
// first fits the room. The units must be more than the room.
func fade(units, room int64, window time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(room), uint64(window))
	covered, _ := bits.Div64(hi, lo, uint64(units)) // the most that may be covered: ⌈units·covered/window⌉ ≤ room
	return window - time.Duration(covered)
}
