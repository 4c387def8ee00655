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
	slots  slotLog   // by the slot in the item
	bucket int64     // when a bucket is full again
	total  int64     // units charged in this generation of the item
	stated intervals // by the writer's clock: for the bound in any window of length W
	sure   intervals // admissions by true time, in windows as much shorter as clocks and flights allow
	whole  intervals // admissions by true time, in whole windows: only to be reported
	latest int64     // the writers' clocks never run backwards for a counter

	charged bool
	// What the worst clocks and the slowest admission were since the log began,
	// in true time.
	ahead, behind, flight time.Duration

	// The most that was in force since the log began: for the stated bounds.
	mostCapacity, mostBurst int64
	shortest                time.Duration // of the intervals T
}

// charging is one charge of a limit that has taken effect.
type charging struct {
	limit    *limit.Limit
	cost     int64
	slot     int64     // that the table names as the newest
	now      time.Time // by the writer's clock
	born     int64     // the same by true time
	applied  int64     // true time
	admitted bool      // the writer will hear of it
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
		units := l.stated.add(l.latest, c.cost, of.Window)
		return cmp.Or(excess(units, of.Capacity, "within %v by their stamps", of.Window), l.chargeSurely(c))
	}
	l.slots.width = of.Slots() + 1
	l.slots.add(c.slot, c.cost)
	switch of.Algorithm {
	case limit.SlidingWindowCounter:
		return l.chargeWeighted(c)
	case limit.FixedWindow:
		return excess(l.slots.units[c.slot], of.Capacity, "in window %d", c.slot)
	}
	units := l.slots.most(c.slot)
	return cmp.Or(excess(units, of.Capacity, "in a window of %d slots around slot %d", l.slots.width, c.slot), l.chargeSurely(c))
}

// excess describes units above what is allowed; it returns an empty text for
// others.
func excess(units, allowed int64, where string, a ...any) string {
	if units <= allowed {
		return ""
	}
	return fmt.Sprintf("%d units %s, allowed: %d", units, fmt.Sprintf(where, a...), allowed)
}

// skew records how wrong a writer's clock is, and how long its charge was under
// way.
func (l *limitLog) skew(c *charging) {
	wrong := time.Duration(c.now.UnixNano() - c.born)
	if !l.charged {
		l.charged, l.ahead, l.behind = true, wrong, wrong
	}
	l.ahead, l.behind = max(l.ahead, wrong), min(l.behind, wrong)
	if c.admitted {
		l.flight = max(l.flight, time.Duration(c.applied-c.born))
	}
}

// chargeSurely logs an admission by true time. Clocks that differ by ε, and a
// flight time, shorten the window by so much. What is left of it never holds
// more than the capacity.
func (l *limitLog) chargeSurely(c *charging) string {
	window := c.limit.Window - (l.ahead - l.behind) - l.flight
	if !c.admitted || window <= 0 {
		return ""
	}
	return excess(l.sure.add(c.born, c.cost, window), c.limit.Capacity, "within %v of true time", window)
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
	units := l.stated.add(now, c.cost, of.Window)
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
	weighted, units := l.slots.weighted(of, at, c.slot), l.stated.add(at, c.cost, of.Window)
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
	return float64(l.whole.add(c.born, c.cost, c.limit.Window)) / float64(c.limit.Capacity)
}

// more logs an extra charge of a settlement. Its units count in the windows of
// later charges.
func (l *limitLog) more(c *charging) {
	l.skew(c)
	l.total += c.cost
	l.slots.width = c.limit.Slots() + 1
	l.slots.add(c.slot, c.cost)
	if window := c.limit.Window - (l.ahead - l.behind) - l.flight; c.limit.Algorithm == limit.SlidingWindow && window > 0 {
		l.sure.add(c.born, c.cost, window)
	}
	l.stated = intervals{} // no bound covers an extra charge
}

// less logs a refund of units of a slot that were charged at a true time.
func (l *limitLog) less(slot, units, born int64) {
	l.slots.add(slot, -units)
	l.stated = intervals{}
	l.sure.refund(born, units)
	l.whole.refund(born, units)
}
