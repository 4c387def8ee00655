package outage

import (
	"fmt"
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
