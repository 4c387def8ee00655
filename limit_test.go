package slidegate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// TestSizes: a burst or a queue of 0 stands for n.
func TestSizes(t *testing.T) {
	for _, limit := range []slidegate.Limit{slidegate.TokenBucket(10, time.Second, 0), slidegate.LeakyBucket(10, time.Second, 0)} {
		if r, err := newLimiter(t, limit).AllowN(t.Context(), "k", 11); err != nil || describe(r) != "denied, 10 left, retry never" {
			t.Errorf("%v: %s, %v", limit, describe(r), err)
		}
	}
}

// TestResult checks the example of the fields' comments.
func TestResult(t *testing.T) {
	clock, withClock := stopped()
	lim := newLimiter(t, slidegate.SlidingWindow(100, time.Minute), withClock)
	clock.Advance(10 * time.Second)
	if _, err := lim.AllowN(t.Context(), "k", 97); err != nil {
		t.Fatal(err)
	}
	clock.Advance(20 * time.Second)
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

// TestLimitString: a limit prints as the call that makes it. TestNewErrors has the others.
func TestLimitString(t *testing.T) {
	for _, test := range []struct {
		limit slidegate.Limit
		want  string
	}{
		{slidegate.PerWeek(10, nil), "PerWeek(10, UTC)"},
		{slidegate.PerMonth(10, berlin).WithAnchor(15), "PerMonth(10, Europe/Berlin).WithAnchor(15)"},
		{slidegate.Limit{}, "Limit{}"},
	} {
		if got := test.limit.String(); got != test.want {
			t.Errorf("%s; want %s", got, test.want)
		}
	}
}
