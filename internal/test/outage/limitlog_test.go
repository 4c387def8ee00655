package outage

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// limitLog is the exact log of one sliding window of one counter. It checks the
// bound that docs/accuracy.md promises.
type limitLog struct {
	slots     slotLog   // by slot of the item
	total     int64     // units charged in this generation of the item
	shortened intervals // admissions by true time, in windows shortened by clock errors and flight times
	full      intervals // admissions by true time, in full windows; only for the report

	charged bool
	// The worst clocks and the slowest admission since the log began.
	ahead, behind, flight time.Duration
}

// charging is one charge of a limit that has taken effect.
type charging struct {
	limit    *limit.Limit
	cost     int64
	slot     int64     // the newest slot of the item
	now      time.Time // by the writer's clock
	trueNow  int64     // the same moment by true time
	applied  int64     // true time
	admitted bool      // the writer gets the answer
}

// charge logs a charge and returns what it breaks; empty if nothing. peak is
// the largest share of the capacity in a window of true time.
func (l *limitLog) charge(c *charging) (broken string, peak float64) {
	l.skew(c)
	l.total += c.cost
	l.slots.width = c.limit.Slots() + 1
	l.slots.add(c.slot, c.cost)
	most := l.slots.most(c.slot)
	broken = excess(most, c.limit.Capacity, "in a window of %d slots around slot %d", l.slots.width, c.slot)
	if !c.admitted {
		return broken, 0
	}
	// The differences of clocks and the flight time shorten the window of true
	// time. The rest of it never contains more than the capacity.
	if window := c.limit.Window - (l.ahead - l.behind) - l.flight; window > 0 {
		units := l.shortened.add(c.trueNow, c.cost, window)
		if broken == "" {
			broken = excess(units, c.limit.Capacity, "within %v of true time", window)
		}
	}
	return broken, float64(l.full.add(c.trueNow, c.cost, c.limit.Window)) / float64(c.limit.Capacity)
}

// excess describes units above the allowed number; empty for others.
func excess(units, allowed int64, where string, a ...any) string {
	if units <= allowed {
		return ""
	}
	return fmt.Sprintf("%d units %s, allowed: %d", units, fmt.Sprintf(where, a...), allowed)
}

// skew records how wrong a writer's clock is, and how long its charge took to
// reach the table.
func (l *limitLog) skew(c *charging) {
	wrong := time.Duration(c.now.UnixNano() - c.trueNow)
	if !l.charged {
		l.charged, l.ahead, l.behind = true, wrong, wrong
	}
	l.ahead, l.behind = max(l.ahead, wrong), min(l.behind, wrong)
	if c.admitted {
		l.flight = max(l.flight, time.Duration(c.applied-c.trueNow))
	}
}

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

// entry is a charge at a time of the interval log.
type entry struct {
	at    int64
	units int64
}

// intervals is an exact log of charges by time, for intervals of one length.
type intervals struct {
	entries []entry // ascending
	first   int     // of the interval that ends at the newest entry
	sum     int64   // from there on
	length  int64
}

// keptIntervals is how many intervals back entries are kept.
const keptIntervals = 3

// add logs a charge and returns the most units in any interval of this length
// that contains the charge. Intervals are (t-length, t]. The length may only
// shrink from one call to the next.
func (l *intervals) add(at, units int64, length time.Duration) int64 {
	l.length = int64(length)
	n := len(l.entries)
	if n == 0 || l.entries[n-1].at <= at {
		l.entries = append(l.entries, entry{at, units})
		l.advance(n)
		l.prune()
		return l.sum
	}
	i := n
	for i > 0 && l.entries[i-1].at > at {
		i--
	}
	l.entries = slices.Insert(l.entries, i, entry{at, units})
	return l.around(i)
}

// advance moves on to the interval that ends at the next entry.
func (l *intervals) advance(last int) {
	l.sum += l.entries[last].units
	for ; l.entries[l.first].at <= l.entries[last].at-l.length; l.first++ {
		l.sum -= l.entries[l.first].units
	}
}

// around computes every interval again, and returns the most units in any that
// contains entry i.
func (l *intervals) around(i int) (most int64) {
	l.first, l.sum = 0, 0
	for last := range l.entries {
		if l.advance(last); last >= i && l.entries[l.first].at <= l.entries[i].at {
			most = max(most, l.sum)
		}
	}
	return most
}

// prune drops entries that no late charge can reach any more. It drops a
// thousand at a time, because a deletion moves all later entries.
func (l *intervals) prune() {
	const some = 1024
	if l.first < some || l.entries[some-1].at >= l.entries[len(l.entries)-1].at-keptIntervals*l.length {
		return
	}
	l.entries = slices.Delete(l.entries, 0, some)
	l.first -= some
}
