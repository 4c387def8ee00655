package storetest

import (
	"fmt"
	"time"
	_ "time/tzdata" // calendars need time zones, even if the machine has none

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// epoch starts most traces. It is a whole minute, so slots and windows start with
// it.
var epoch = time.Unix(1_700_000_040, 0)

// Sliding returns a sliding window of slots.
func Sliding(capacity int64, window, granularity time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindow, Capacity: capacity, Window: window, Granularity: granularity}
}

// Fixed returns a fixed window.
func Fixed(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.FixedWindow, Capacity: capacity, Window: window, Granularity: window}
}

// Weighted returns a sliding window counter, which weighs two fixed windows.
func Weighted(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: capacity, Window: window, Granularity: window}
}

// Exact returns a sliding window log without slots.
func Exact(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: capacity, Window: window, Granularity: limit.Exact}
}

// Token returns a token bucket with room for burst units.
func Token(capacity int64, window time.Duration, burst int64) limit.Limit {
	return limit.Limit{Algorithm: limit.TokenBucket, Capacity: capacity, Window: window, Burst: burst}
}

// Leaky returns a leaky bucket with room for queue units.
func Leaky(capacity int64, window time.Duration, queue int64) limit.Limit {
	return limit.Limit{Algorithm: limit.LeakyBucket, Capacity: capacity, Window: window, Burst: queue}
}

// Calendar returns a fixed window of a calendar.
func Calendar(capacity int64, of *limit.Calendar) limit.Limit {
	l := Fixed(capacity, of.Nominal())
	l.Calendar = of
	return l
}

// zoned returns a fixed window of the calendar in a time zone.
func zoned(capacity int64, unit limit.Unit, zone string, anchor int) limit.Limit {
	return Calendar(capacity, &limit.Calendar{Unit: unit, Location: must(time.LoadLocation(zone)), Anchor: anchor})
}

// named gives several limits of a rule their names.
func named(limits ...limit.Limit) []limit.Limit {
	for i := range limits {
		limits[i].Name = string(rune('a' + i))
	}
	return limits
}

// label names a limit's part of the suite.
func label(l *limit.Limit) string {
	if l.Calendar != nil {
		return l.Algorithm.String() + " by the calendar"
	}
	return l.Algorithm.String()
}

// describe formats a limit for logs.
func describe(l *limit.Limit) string {
	s := fmt.Sprintf("%s of %d in %v, slots of %v, burst %d", l.Algorithm, l.Capacity, l.Window, l.Granularity, l.Burst)
	if l.Calendar != nil {
		s += " by the calendar of " + l.Calendar.Location.String()
	}
	return s
}
