package slidegate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// TestLimits tries the examples of the constructors' comments on one key, but
// for those that the Example functions show.
func TestLimits(t *testing.T) {
	type step struct {
		at   string
		n    int64
		want string
	}
	for _, test := range []struct {
		name  string
		limit slidegate.Limit
		steps []step
	}{
		{"a sliding window counts units up to one slot longer than the window", slidegate.SlidingWindow(100, time.Minute), []step{
			{"12:00:10.5", 100, "allowed, 0 left"},
			{"12:00:10.5", 1, "denied, 0 left, retry 1m0.5s"},
			{"12:01:10.999999999", 1, "denied, 0 left, retry 1ns"},
			{"12:01:11", 100, "allowed, 0 left"},
		}},
		{"a token bucket takes its burst after five idle seconds", slidegate.TokenBucket(10, time.Second, 50), []step{
			{"12:00:00", 50, "allowed, 0 left"},
			{"12:00:00", 1, "denied, 0 left, retry 100ms"},
			{"12:00:00.1", 1, "allowed, 0 left"},
			{"12:00:05.1", 51, "denied, 50 left, retry never"},
			{"12:00:05.1", 50, "allowed, 0 left"},
		}},
		{"a burst of 0 stands for n", slidegate.TokenBucket(10, time.Second, 0), []step{
			{"12:00:00", 11, "denied, 10 left, retry never"},
			{"12:00:00", 10, "allowed, 0 left"},
		}},
		{"a leaky bucket of ten that come at once admits five", slidegate.LeakyBucket(10, time.Second, 5), []step{
			{"12:00:00", 1, "allowed, 4 left"},
			{"12:00:00", 1, "allowed, 3 left, delay 100ms"},
			{"12:00:00", 1, "allowed, 2 left, delay 200ms"},
			{"12:00:00", 1, "allowed, 1 left, delay 300ms"},
			{"12:00:00", 1, "allowed, 0 left, delay 400ms"},
			{"12:00:00", 1, "denied, 0 left, retry 100ms"},
			{"12:00:00", 1, "denied, 0 left, retry 100ms"},
			{"12:00:00.1", 1, "allowed, 0 left, delay 400ms"},
		}},
		{"a queue of 0 stands for n", slidegate.LeakyBucket(2, time.Second, 0), []step{
			{"12:00:00", 1, "allowed, 1 left"},
			{"12:00:00", 1, "allowed, 0 left, delay 500ms"},
			{"12:00:00", 1, "denied, 0 left, retry 500ms"},
		}},
		{"the zone that is empty is UTC", slidegate.PerDay(5, nil), []step{
			{"23:59:59", 5, "allowed, 0 left"},
			{"2026-01-06 00:00:00", 5, "allowed, 0 left"},
		}},
		{"a month begins on the first", slidegate.PerMonth(5, time.UTC), []step{
			{"2026-01-31 23:00:00", 5, "allowed, 0 left"},
			{"2026-01-31 23:00:00", 1, "denied, 0 left, retry 1h0m0s"},
			{"2026-02-01 00:00:00", 5, "allowed, 0 left"},
		}},
		{"a month begins on its last day if it lacks the one it is anchored to", slidegate.PerMonth(5, time.UTC).WithAnchor(31), []step{
			{"2027-01-31 00:00:00", 5, "allowed, 0 left"},
			{"2027-02-27 23:00:00", 1, "denied, 0 left, retry 1h0m0s"},
			{"2027-02-28 00:00:00", 5, "allowed, 0 left"},
			{"2027-03-30 23:00:00", 1, "denied, 0 left, retry 1h0m0s"},
			{"2027-03-31 00:00:00", 5, "allowed, 0 left"},
		}},
		{"zero units are allowed at any time, and charge nothing", slidegate.FixedWindow(2, time.Minute), []step{
			{"12:00:00", 0, "allowed, 2 left"},
			{"12:00:00", 2, "allowed, 0 left"},
			{"12:00:00", 0, "allowed, 0 left"},
		}},
		{"more units than the limit holds never fit", slidegate.SlidingWindow(100, time.Minute), []step{
			{"12:00:00", 101, "denied, 100 left, retry never"},
			{"12:00:00", 1<<63 - 1, "denied, 100 left, retry never"},
			{"12:00:00", 100, "allowed, 0 left"},
		}},
		{"more units than a bucket holds never fit", slidegate.TokenBucket(10, time.Second, 0), []step{
			{"12:00:00", 1<<63 - 1, "denied, 10 left, retry never"},
		}},
		{"time does not run backwards", slidegate.SlidingWindow(2, time.Minute), []step{
			{"12:00:30", 1, "allowed, 1 left"},
			{"12:00:00", 1, "allowed, 0 left"},
			{"12:01:30", 1, "denied, 0 left, retry 1s"}, // both count for the slot of 12:00:30
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			lim := newLimiter(t, test.limit)
			for _, s := range test.steps {
				r, err := lim.AllowAt(t.Context(), at(t, s.at), "k", s.n)
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(r); got != s.want {
					t.Errorf("%s: %d units: %s; want %s", s.at, s.n, got, s.want)
				}
			}
		})
	}
}

// TestResult checks the example of the fields' comments.
func TestResult(t *testing.T) {
	clock, withClock := stopped()
	lim := newLimiter(t, slidegate.SlidingWindow(100, time.Minute), withClock)
	clock.Set(at(t, "12:00:10"))
	if _, err := lim.AllowN(t.Context(), "k", 97); err != nil {
		t.Fatal(err)
	}
	clock.Set(at(t, "12:00:30"))
	for _, test := range []struct {
		n    int64
		want slidegate.Result
	}{
		{4, slidegate.Result{Limit: 100, Remaining: 3, ResetAfter: 41 * time.Second, RetryAfter: 41 * time.Second}},
		{101, slidegate.Result{Limit: 100, Remaining: 3, ResetAfter: 41 * time.Second, RetryAfter: slidegate.Never}},
		{3, slidegate.Result{Allowed: true, Limit: 100, ResetAfter: 61 * time.Second}},
	} {
		peeked, err := lim.PeekCosts(t.Context(), "k", test.n)
		if err != nil {
			t.Fatal(err)
		}
		r, err := lim.AllowN(t.Context(), "k", test.n)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(r) != fmt.Sprint(test.want) {
			t.Errorf("%d units: %+v; want %+v", test.n, r, test.want)
		}
		if peeked.Allowed != r.Allowed || peeked.RetryAfter != r.RetryAfter {
			t.Errorf("%d units: Peek says %+v, AllowN %+v", test.n, peeked, r)
		}
	}
}

// TestBusyKey checks what a sliding window admits of n to a key that asks all the
// time: 60 slots count for 61, and 10 for 11.
func TestBusyKey(t *testing.T) {
	for _, test := range []struct {
		limit       slidegate.Limit
		n           int
		window      time.Duration
		least, most float64
	}{
		{slidegate.SlidingWindow(600, time.Minute), 600, time.Minute, 0.98, 0.99},
		{slidegate.SlidingWindow(600, time.Second), 600, time.Second, 0.909, 0.91},
		{slidegate.SlidingWindow(600, time.Minute).WithSlots(100 * time.Millisecond), 600, time.Minute, 0.998, 1},
	} {
		clock, withClock := stopped()
		lim := newLimiter(t, test.limit, withClock)
		const windows, requests = 66, 1800 // in a window
		admitted := 0
		for range windows * requests {
			if r, err := lim.Allow(t.Context(), "k"); err != nil {
				t.Fatal(err)
			} else if r.Allowed {
				admitted++
			}
			clock.Advance(test.window / requests)
		}
		if share := float64(admitted) / float64(windows*test.n); share < test.least || share > test.most {
			t.Errorf("%v: admitted %.4f of the units; want %v to %v", test.limit, share, test.least, test.most)
		}
	}
}

// TestLimitString: a limit prints as the call that makes it.
func TestLimitString(t *testing.T) {
	for _, test := range []struct {
		limit slidegate.Limit
		want  string
	}{
		{slidegate.SlidingWindow(100, time.Minute), "SlidingWindow(100, 1m)"},
		{slidegate.SlidingWindow(100, time.Minute).WithSlots(time.Second).WithName("burst"), `SlidingWindow(100, 1m).WithSlots(1s).WithName("burst")`},
		{slidegate.FixedWindow(100, 24*time.Hour), "FixedWindow(100, 1d)"},
		{slidegate.SlidingWindowCounter(100, time.Hour), "SlidingWindowCounter(100, 1h)"},
		{slidegate.SlidingLog(10, time.Second), "SlidingLog(10, 1s)"},
		{slidegate.TokenBucket(10, time.Second, 50), "TokenBucket(10, 1s, 50)"},
		{slidegate.LeakyBucket(10, time.Second, 0), "LeakyBucket(10, 1s, 0)"},
		{slidegate.PerDay(10, time.UTC), "PerDay(10, UTC)"},
		{slidegate.PerWeek(10, nil), "PerWeek(10, UTC)"},
		{slidegate.PerMonth(10, berlin).WithAnchor(15), "PerMonth(10, Europe/Berlin).WithAnchor(15)"},
		{slidegate.Limit{}, "Limit{}"},
	} {
		if got := test.limit.String(); got != test.want {
			t.Errorf("%s; want %s", got, test.want)
		}
	}
}
