package replay

import (
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// PeakWindow is which earlier requests count together with a new one: those in its
// own slot and in the slots before it.
type PeakWindow struct{ width, slots int64 }

// ExactWindow returns a window to the nanosecond, as limit.SlidingWindowLog counts: of
// a request at t and one at t plus length, the first no longer counts.
func ExactWindow(length time.Duration) PeakWindow {
	return PeakWindow{int64(limit.Exact), int64(length) - 1}
}

// WindowOf returns the window that a limit counts by, which must have slots: no
// bucket, no weights and no calendar. A sliding window counts its oldest slot
// in full, so its peak may be above the exact one. A key that is never denied
// has a peak of at most the capacity, and one with such a peak is never denied.
func WindowOf(l *limit.Limit) PeakWindow { return PeakWindow{int64(l.Granularity), l.Slots()} }

// from returns the first moment, in Unix nanoseconds, whose requests count
// together with one at a moment.
func (w PeakWindow) from(at int64) int64 {
	into := at % w.width
	if into < 0 {
		into += w.width
	}
	return at - into - w.slots*w.width
}

// Peaks finds the most requests that a key ever made in one window, of any
// position. It is exact, for windows of several lengths at once. The zero value
// has none. It takes eight bytes for each request in the longest window, 16 for
// each window, and about as much again while it grows.
type Peaks struct {
	times []int64 // of the requests that any window may still count, ascending
	marks []mark  // of each window
	last  int64   // the latest time
}

// mark is where a window begins, and what it has seen.
type mark struct {
	first, peak uint32 // first is the index in times
	at          int64
}

// Add counts a request in each window. The windows must be the same each time.
// A request earlier than one before counts at the time of that, as limits count
// those of late clocks.
func (c *Peaks) Add(windows []PeakWindow, at time.Time) {
	if c.marks == nil {
		c.marks, c.last = make([]mark, len(windows)), math.MinInt64
	}
	now := max(at.UnixNano(), c.last)
	c.last = now
	c.times = append(c.times, now)
	oldest := uint32(len(c.times))
	for i, w := range windows {
		m, from := &c.marks[i], w.from(now)
		for c.times[m.first] < from {
			m.first++
		}
		if n := uint32(len(c.times)) - m.first; n > m.peak {
			m.peak, m.at = n, now
		}
		oldest = min(oldest, m.first)
	}
	if int(oldest) <= len(c.times)/2 || oldest <= 32 {
		return
	}
	c.times = slices.Clone(c.times[oldest:]) // frees the rest
	for i := range c.marks {
		c.marks[i].first -= oldest
	}
}

// Peak returns the most requests in window i of Add, and when the last of them
// came. There must be one.
func (c *Peaks) Peak(i int) (requests int64, at time.Time) {
	return int64(c.marks[i].peak), time.Unix(0, c.marks[i].at)
}
