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
func (s *Slots) weighted(l *Limit, now, q int64) int64 {
	elapsed := max(0, -l.until(q, now)) // a caller behind slot q counts as at its start
	return s.unitsOf(q) + share(s.unitsOf(q-1), l.Window-elapsed, l.Window)
}

// unitsOf returns the units of one slot.
func (s *Slots) unitsOf(number int64) int64 {
	if s.number() == number {
		return s.units
	}
	return s.older.units(number)
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
func (s *Slots) retryWeighted(l *Limit, now, q, cost int64) time.Duration {
	if room := l.Capacity - cost - s.unitsOf(q); room >= 0 {
		return l.until(q, now) + fade(s.unitsOf(q-1), room, l.Window)
	}
	return l.until(q+1, now) + fade(s.unitsOf(q), l.Capacity-cost, l.Window)
}

// fade returns how long after a window's start the share of the units before it
// first fits the room. The units must be more than the room.
func fade(units, room int64, window time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(room), uint64(window))
	covered, _ := bits.Div64(hi, lo, uint64(units)) // the most that may be covered: ⌈units·covered/window⌉ ≤ room
	return window - time.Duration(covered)
}
