package sim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// limitLog is the exact log of one limit of one counter. It checks the bound
// that each algorithm promises (docs/accuracy.md).
type limitLog struct {
	slots     slotLog   // by slot of the item
	bucket    int64     // when a bucket is full again
	total     int64     // units charged in this generation of the item
	byClock   intervals // by the writers' clocks, for the bound in any window of length W
	shortened intervals // admissions by true time, in windows shortened by clock errors and flight times
	full      intervals // admissions by true time, in full windows; only for the report
	latest    int64     // the writers' clocks never run backwards for a counter

	charged bool
	// The worst clocks and the slowest admission since the log began.
	ahead, behind, flight time.Duration

	// The largest limits in force since the log began, for the bounds by clock.
	mostCapacity, mostBurst int64
	shortest                time.Duration // of the intervals T
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
	l.latest = max(l.latest, c.now.UnixNano())
	l.mostCapacity, l.mostBurst = max(l.mostCapacity, c.limit.Capacity), max(l.mostBurst, c.limit.Burst)
	l.total += c.cost
	return l.check(c), l.peak(c)
}

// check logs a charge as its algorithm counts it.
func (l *limitLog) check(c *charging) string {
	of := c.limit
	switch of.Algorithm {
	case limit.TokenBucket, limit.LeakyBucket:
		return l.chargeBucket(c)
	case limit.SlidingWindowLog:
		units := l.byClock.add(l.latest, c.cost, of.Window)
		return cmp.Or(excess(units, of.Capacity, "within %v by their stamps", of.Window), l.chargeShortened(c))
	}
	l.slots.width = of.Slots() + 1
	l.slots.add(c.slot, c.cost)
	switch of.Algorithm {
	case limit.SlidingWindowCounter:
		return l.chargeWeighted(c)
	case limit.FixedWindow:
		return excess(l.slots.units[c.slot], of.Capacity, "in window %d", c.slot)
	}
	return cmp.Or(
		excess(l.slots.most(c.slot), of.Capacity, "in a window of %d slots around slot %d", l.slots.width, c.slot),
		l.chargeShortened(c),
	)
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

// chargeShortened logs an admission by true time. The differences of clocks and
// the flight time shorten the window. The rest of it never contains more than
// the capacity.
func (l *limitLog) chargeShortened(c *charging) string {
	window := c.limit.Window - (l.ahead - l.behind) - l.flight
	if !c.admitted || window <= 0 {
		return ""
	}
	return excess(l.shortened.add(c.trueNow, c.cost, window), c.limit.Capacity, "within %v of true time", window)
}

// chargeBucket checks the algorithm, and the bound B + N in any window of the
// writers' clocks.
func (l *limitLog) chargeBucket(c *charging) string {
	of, now := c.limit, c.now.UnixNano()
	interval := of.Interval()
	if l.shortest == 0 || interval < l.shortest {
		l.shortest = interval
	}
	l.bucket = max(l.bucket, now) + c.cost*int64(interval)
	if over := time.Duration(l.bucket-now) - of.Drain(); over > 0 {
		return fmt.Sprintf("the bucket is overdrawn by %v", over)
	}
	bound := l.mostBurst + int64(of.Window/l.shortest)
	units := l.byClock.add(now, c.cost, of.Window)
	if l.mostCapacity != of.Capacity {
		return "" // the bound holds for one capacity
	}
	return excess(units, bound, "within %v", of.Window)
}

// chargeWeighted checks the algorithm, and the bound 2N in any window of the
// writers' clocks. A clock behind another may draw on a credit that is right
// for the later one, because time never runs backwards for a counter.
func (l *limitLog) chargeWeighted(c *charging) string {
	of := c.limit
	at := max(l.latest, c.slot*int64(of.Window))
	weighted, units := l.slots.weighted(of, at, c.slot), l.byClock.add(at, c.cost, of.Window)
	return cmp.Or(
		excess(weighted, of.Capacity, "as weighted in slot %d", c.slot),
		excess(units, 2*l.mostCapacity-1, "within %v", of.Window),
	)
}

// peak logs an admission by true time and returns the share of the capacity
// that a whole window holds.
func (l *limitLog) peak(c *charging) float64 {
	if !c.admitted {
		return 0
	}
	return float64(l.full.add(c.trueNow, c.cost, c.limit.Window)) / float64(c.limit.Capacity)
}

// more logs an extra charge of a settlement. Its units count in the windows of
// later charges.
func (l *limitLog) more(c *charging) {
	l.skew(c)
	l.total += c.cost
	l.slots.width = c.limit.Slots() + 1
	l.slots.add(c.slot, c.cost)
	if window := c.limit.Window - (l.ahead - l.behind) - l.flight; c.limit.Algorithm == limit.SlidingWindow && window > 0 {
		l.shortened.add(c.trueNow, c.cost, window)
	}
	l.byClock = intervals{} // no bound covers an extra charge
}

// less logs a refund of units of a slot that were charged at a true time.
func (l *limitLog) less(slot, units, trueNow int64) {
	l.slots.add(slot, -units)
	l.byClock = intervals{}
	l.shortened.refund(trueNow, units)
	l.full.refund(trueNow, units)
}
