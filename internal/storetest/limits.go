package storetest

import (
	"fmt"
	"time"
	_ "time/tzdata" // the traces of calendars need zones also where the machine has none

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// epoch starts every trace that does not say otherwise: a whole minute, so that slots and windows start with it.
var epoch = time.Unix(1_700_000_040, 0)

func sliding(capacity int64, window, granularity time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindow, Capacity: capacity, Window: window, Granularity: granularity}
}

func fixed(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.FixedWindow, Capacity: capacity, Window: window, Granularity: window}
}

func weighted(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: capacity, Window: window, Granularity: window}
}

func exact(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: capacity, Window: window, Granularity: limit.Exact}
}

func token(capacity int64, window time.Duration, burst int64) limit.Limit {
	return limit.Limit{Algorithm: limit.TokenBucket, Capacity: capacity, Window: window, Burst: burst}
}

func leaky(capacity int64, window time.Duration, queue int64) limit.Limit {
	return limit.Limit{Algorithm: limit.LeakyBucket, Capacity: capacity, Window: window, Burst: queue}
}

func calendar(capacity int64, unit limit.Unit, zone string, anchor int) limit.Limit {
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC // its traces fail, and say where
	}
	c := &limit.Calendar{Unit: unit, Location: location, Anchor: anchor}
	l := fixed(capacity, c.Nominal())
	l.Calendar = c
	return l
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

// words describes a limit as a rule file would.
func words(l *limit.Limit) string {
	s := fmt.Sprintf("%s of %d in %v", l.Algorithm, l.Capacity, l.Window)
	switch {
	case l.Calendar != nil:
		s = fmt.Sprintf("%s of %d by the calendar of %s", l.Algorithm, l.Capacity, l.Calendar.Location)
	case l.Bucket():
		s += fmt.Sprintf(", burst %d", l.Burst)
	case l.Algorithm == limit.SlidingWindow:
		s += fmt.Sprintf(" by %v", l.Granularity)
	}
	return s
}
