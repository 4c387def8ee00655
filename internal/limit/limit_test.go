package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// epoch is a whole minute, so that slots and windows start with it.
var epoch = time.Unix(1_700_000_040, 0)

var (
	sliding, fixed, weighted, exact = storetest.Sliding, storetest.Fixed, storetest.Weighted, storetest.Exact
	token, leaky, calendar          = storetest.Token, storetest.Leaky, storetest.Calendar
	inFlight                        = storetest.InFlight
)

func TestAlgorithms(t *testing.T) {
	for _, test := range []struct {
		limit       limit.Limit
		name        string
		bucket      bool
		correctable bool
		most, slots int64
	}{
		{sliding(9, 10*sec, sec), "sliding_window", false, true, 9, 10},
		{fixed(9, 10*sec), "fixed_window", false, true, 9, 0},
		{weighted(9, 10*sec), "sliding_window_counter", false, true, 9, 1},
		{exact(9, 10*sec), "sliding_window_log", false, false, 9, 10*int64(sec) - 1},
		{token(9, 10*sec, 4), "token_bucket", true, false, 4, 0},
		{leaky(9, 10*sec, 4), "leaky_bucket", true, false, 4, 0},
		{inFlight(9, 10*sec), "in_flight", false, false, 9, 0},
	} {
		l := &test.limit
		if got := l.Algorithm.String(); got != test.name {
			t.Errorf("algorithm %d is %s, want %s", l.Algorithm, got, test.name)
		}
		if got, ok := limit.ParseAlgorithm(test.name); ok != (l.Algorithm != limit.InFlight) || ok && got != l.Algorithm {
			t.Errorf("%s is algorithm %v, %v", test.name, got, ok)
		}
		if l.Bucket() != test.bucket || l.Correctable() != test.correctable || l.MaxCost() != test.most {
			t.Errorf("%s: bucket %v, correctable %v, max cost %d", test.name, l.Bucket(), l.Correctable(), l.MaxCost())
		}
		if l.Slots() != test.slots {
			t.Errorf("%s: %d slots, want %d", test.name, l.Slots(), test.slots)
		}
	}
	if got, ok := limit.ParseAlgorithm("gcra"); ok || got != limit.SlidingWindow {
		t.Errorf("gcra is %v, %v", got, ok)
	}
	if limit.Never != -1 {
		t.Errorf("Never is %d, want -1, which is stored and printed", limit.Never)
	}
	if got := limit.Algorithm(7).String(); got != "unknown" {
		t.Errorf("algorithm 7 is %s", got)
	}
	if got := strings.Join(limit.Algorithms(), " "); got != "sliding_window fixed_window sliding_window_counter sliding_window_log token_bucket leaky_bucket" {
		t.Errorf("the algorithms are %s", got)
	}
}

// TestSlotAt checks the borders of slots to the nanosecond, before 1970 too.
func TestSlotAt(t *testing.T) {
	l := sliding(1, 10*sec, sec)
	for at, want := range map[time.Duration]int64{
		0: 0, 1: 0, sec - 1: 0, sec: 1, sec + 1: 1, -1: -1, -sec: -1, -sec - 1: -2, 3 * sec: 3,
	} {
		now := time.Unix(0, int64(at))
		if got := l.SlotAt(now); got != want {
			t.Errorf("%v is in slot %d, want %d", at, got, want)
		}
		if until := l.Until(want, now); until > 0 || until <= -sec {
			t.Errorf("slot %d, which contains %v, starts in %v", want, at, until)
		}
		if until := l.Until(want+1, now); until <= 0 || until > sec {
			t.Errorf("slot %d, after the one that contains %v, starts in %v", want+1, at, until)
		}
	}
}

func TestCombine(t *testing.T) {
	a := limit.Result{Allowed: true, Remaining: 3, Reset: 5 * sec, Delay: sec}
	b := limit.Result{Remaining: 1, Reset: 2 * sec, RetryAfter: 2 * sec}
	c := limit.Result{Remaining: 9, Reset: sec, RetryAfter: limit.Never}
	d := limit.Result{Allowed: true, Remaining: 4, Reset: 7 * sec, Delay: 2 * sec}
	for _, test := range []struct {
		name    string
		results []limit.Result
		want    limit.Result
	}{
		{"none", nil, limit.Result{Allowed: true}},
		{"one", []limit.Result{b}, b},
		{"one that never allows", []limit.Result{c}, c},
		{"all allow: the longest delay", []limit.Result{a, d}, limit.Result{Allowed: true, Remaining: 3, Reset: 7 * sec, Delay: 2 * sec}},
		{"one denies: no request waits for a turn", []limit.Result{a, b}, limit.Result{Remaining: 1, Reset: 5 * sec, RetryAfter: 2 * sec}},
		{"never is later than any time", []limit.Result{c, b, a}, limit.Result{Remaining: 1, Reset: 5 * sec, RetryAfter: limit.Never}},
		{"in any order", []limit.Result{a, b, c}, limit.Result{Remaining: 1, Reset: 5 * sec, RetryAfter: limit.Never}},
	} {
		if got := limit.Combine(test.results); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestDocumentedResult checks the numbers in the documentation of limit.Result.
func TestDocumentedResult(t *testing.T) {
	noon := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	l := limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second}
	var state limit.State
	state.Take(&l, at(10), 97)
	for cost, want := range map[int64]limit.Result{
		3:   {Allowed: true, Remaining: 3, Reset: 41 * time.Second},
		4:   {Remaining: 3, Reset: 41 * time.Second, RetryAfter: 41 * time.Second},
		101: {Remaining: 3, Reset: 41 * time.Second, RetryAfter: limit.Never},
	} {
		if got := state.Decide(&l, at(30), cost); got != want {
			t.Errorf("cost %d: got %+v, want %+v", cost, got, want)
		}
	}
	if got, want := state.Take(&l, at(30), 3), (limit.Result{Allowed: true, Reset: 61 * time.Second}); got != want {
		t.Errorf("charged 3: got %+v, want %+v", got, want)
	}

	queue := limit.Limit{Algorithm: limit.LeakyBucket, Capacity: 60, Window: time.Minute, Burst: 10}
	var queued limit.State
	queued.Take(&queue, noon, 5)
	if got := queued.Take(&queue, noon, 1).Delay; got != 5*time.Second {
		t.Errorf("delay behind 5 units: %v, want 5s", got)
	}
}
