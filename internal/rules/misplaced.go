package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/limit"
)

// refuseMisplaced reports the fields that mean nothing to the limit's algorithm. To pass over them would leave a person
// with another limit than was written.
func (d *decoder) refuseMisplaced(s *stated) {
	a := s.limit.Algorithm
	for _, f := range []struct {
		at     value
		reason string
	}{
		{s.granularity, whyNoGranularity(a)},
		{s.burst, whyNoBurst(a)},
		{s.queue, whyNoQueue(a)},
		{s.timezone, whyNoCalendar(a, "timezone")},
		{s.anchor, whyNoCalendar(a, "anchor")},
	} {
		if f.at.node != nil && f.reason != "" {
			d.fail(f.at, "%s", f.reason)
		}
	}
}

func whyNoGranularity(a limit.Algorithm) string {
	has := ""
	switch a {
	case limit.SlidingWindow:
		return ""
	case limit.FixedWindow:
		has = "is one slot as wide as its window"
	case limit.SlidingWindowCounter:
		has = "has two slots as wide as its window"
	case limit.SlidingWindowLog:
		has = "keeps the time of every request"
	default:
		has = "has no slots"
	}
	return fmt.Sprintf("a %s %s: remove granularity", a, has)
}

func whyNoBurst(a limit.Algorithm) string {
	switch a {
	case limit.TokenBucket:
		return ""
	case limit.LeakyBucket:
		return fmt.Sprintf("a %s lets nothing out in a burst: write queue for what may wait, or algorithm: %s", a, limit.TokenBucket)
	}
	return fmt.Sprintf("a %s has no burst: remove it, or write algorithm: %s", a, limit.TokenBucket)
}

func whyNoQueue(a limit.Algorithm) string {
	switch a {
	case limit.LeakyBucket:
		return ""
	case limit.TokenBucket:
		return fmt.Sprintf("a %s lets nothing wait: write burst for what it holds, or algorithm: %s", a, limit.LeakyBucket)
	}
	return fmt.Sprintf("a %s has no queue: remove it, or write algorithm: %s", a, limit.LeakyBucket)
}

func whyNoCalendar(a limit.Algorithm, field string) string {
	if a == limit.FixedWindow {
		return ""
	}
	return fmt.Sprintf("a %s does not follow the calendar: remove %s, or write algorithm: %s", a, field, limit.FixedWindow)
}
