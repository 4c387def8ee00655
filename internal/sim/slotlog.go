package sim

import (
	"math/bits"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
)

// slotLog is an exact log of the units charged by slot.
type slotLog struct {
	slots []limit.Slot // ascending
	width int64        // k+1: the slots of a window
}

// add logs units in a slot, and forgets slots that lie two windows behind the
// newest.
func (l *slotLog) add(slot, units int64) {
	i := len(l.slots)
	for i > 0 && l.slots[i-1].Number > slot {
		i--
	}
	if i > 0 && l.slots[i-1].Number == slot {
		l.slots[i-1].Units += units
		return
	}
	l.slots = slices.Insert(l.slots, i, limit.Slot{Number: slot, Units: units})
	old := l.newest() - 2*l.width
	n := 0
	for l.slots[n].Number < old {
		n++
	}
	if n > int(l.width)/4 {
		l.slots = slices.Delete(l.slots, 0, n)
	}
}

func (l *slotLog) newest() int64 { return l.slots[len(l.slots)-1].Number }

func (l *slotLog) units(slot int64) int64 {
	for i := len(l.slots) - 1; i >= 0 && l.slots[i].Number >= slot; i-- {
		if l.slots[i].Number == slot {
			return l.slots[i].Units
		}
	}
	return 0
}

// window returns the units in the window of k+1 slots that ends with one.
func (l *slotLog) window(last int64) (sum int64) {
	for i := len(l.slots) - 1; i >= 0 && l.slots[i].Number > last-l.width; i-- {
		if l.slots[i].Number <= last {
			sum += l.slots[i].Units
		}
	}
	return sum
}

// most returns the most units of any window that holds a slot. Unless a later
// slot has been charged, that window ends with it.
func (l *slotLog) most(slot int64) (most int64) {
	for last := slot; last <= min(slot+l.width-1, max(slot, l.newest())); last++ {
		most = max(most, l.window(last))
	}
	return most
}

// weighted returns a sliding window counter's estimate at a time, in Unix
// nanoseconds, for slot q: ⌈s[q-1]·(W-elapsed)/W⌉ + s[q].
func (l *slotLog) weighted(of *limit.Limit, at, q int64) int64 {
	elapsed := min(int64(of.Window), max(0, at-q*int64(of.Window)))
	hi, lo := bits.Mul64(uint64(l.units(q-1)), uint64(int64(of.Window)-elapsed))
	quotient, rest := bits.Div64(hi, lo, uint64(of.Window))
	if rest > 0 {
		quotient++
	}
	return int64(quotient) + l.units(q)
}
