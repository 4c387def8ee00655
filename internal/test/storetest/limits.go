package storetest

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
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

//go:embed traces.txt
var traceFile string

// traces replays traces.txt, whose first paragraph explains its format.
func traces(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, trace := range strings.Split(strings.TrimSpace(traceFile), "\n\n")[1:] {
		lines := strings.Split(trace, "\n")
		t.Run(lines[0], func(t *testing.T) { replay(t, h, store, lines[1], lines[2:]) })
	}
}

// replay makes the charges of a trace. Its heading has the limit, and the start
// if the trace has one of its own.
func replay(t *testing.T, h Harness, store limit.Store, heading string, charges []string) {
	rule, start, dated := strings.Cut(heading, " from ")
	p := newPair(t, store, readLimit(strings.Fields(rule)))
	if !h.accepts(p.limits[0]) {
		if store.Charge(context.Background(), epoch, p.request(1), &limit.Verdict{}) == nil {
			p.fail("the store accepts a limit that the harness excludes")
		}
		return
	}
	if dated {
		p.start = must(time.Parse(time.RFC3339, start))
	}
	for _, line := range charges {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		at, cost, want := must(time.ParseDuration(words[0])), readNumber(words[1]), strings.Join(words[2:], " ")
		if got := p.charge(at, cost).got.Result; format(got) != want {
			p.fail("want: %s", want)
		}
	}
}

// readLimit reads the words of a limit: algorithm, capacity, window, and then
// the granularity of a sliding window or the burst of a bucket. The words of a
// calendar are capacity, unit, time zone, and the day on which months start.
func readLimit(words []string) limit.Limit {
	capacity, last := readNumber(words[1]), words[len(words)-1]
	if words[0] == "calendar" {
		units := map[string]limit.Unit{"day": limit.Day, "week": limit.Week, "month": limit.Month}
		anchor := 0
		if len(words) > 4 {
			anchor = int(readNumber(last))
		}
		return zoned(capacity, units[words[2]], words[3], anchor)
	}
	switch window := must(time.ParseDuration(words[2])); words[0] {
	case "sliding_window":
		return Sliding(capacity, window, must(time.ParseDuration(last)))
	case "fixed_window":
		return Fixed(capacity, window)
	case "sliding_window_counter":
		return Weighted(capacity, window)
	case "sliding_window_log":
		return Exact(capacity, window)
	case "token_bucket":
		return Token(capacity, window, readNumber(last))
	case "in_flight":
		return InFlight(capacity, window)
	case "leaky_bucket":
		return Leaky(capacity, window, readNumber(last))
	}
	panic(fmt.Sprintf("traces.txt: unknown limit %q", words))
}

func readNumber(word string) int64 { return must(strconv.ParseInt(word, 10, 64)) }

// must panics on an error, which only a mistake in this package can cause.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
