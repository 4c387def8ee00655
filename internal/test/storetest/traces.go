package storetest

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

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
