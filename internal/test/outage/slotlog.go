package outage

import "maps"

// slotLog is an exact log of the units charged by slot.
type slotLog struct {
	units  map[int64]int64
	newest int64
	width  int64 // slots that a window touches: those of its length, and one more
}

// add logs units in a slot. When the log has grown, it drops slots that lie two
// windows behind the newest.
func (l *slotLog) add(slot, units int64) {
	if l.units == nil {
		l.units = map[int64]int64{}
	}
	l.units[slot] += units
	l.newest = max(l.newest, slot)
	if len(l.units) > 4*int(l.width) {
		maps.DeleteFunc(l.units, func(slot, _ int64) bool { return slot < l.newest-2*l.width })
	}
}

// window returns the units in the window whose last slot is last.
func (l *slotLog) window(last int64) (sum int64) {
	for slot := last - l.width + 1; slot <= last; slot++ {
		sum += l.units[slot]
	}
	return sum
}

// most returns the largest number of units in any window that contains slot.
// It skips windows that end after the newest charged slot, which hold no more.
func (l *slotLog) most(slot int64) (most int64) {
	for last := slot; last <= min(slot+l.width-1, max(slot, l.newest)); last++ {
		most = max(most, l.window(last))
	}
	return most
}
