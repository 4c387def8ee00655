package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		limit           limit.Limit
		interval, drain time.Duration
	}{
		{token(10, 10*sec, 5), sec, 5 * sec},
		{token(3, 10*sec, 3), 3333333334, 10000000002},
		{token(7, 1, 7), 1, 7},
		{leaky(limit.MaxCapacity, sec, limit.MaxCapacity), 1, limit.MaxCapacity},
		{leaky(limit.MaxCapacity, limit.MaxDrain, 1), 73626638, 73626638}, // ⌈316,224,000 s / (2³² − 1)⌉
		{token(1, limit.MaxDrain, 1), limit.MaxDrain, limit.MaxDrain},
	} {
		if got := test.limit.Interval(); got != test.interval {
			t.Errorf("%d in %v: a unit in %v, want %v", test.limit.Capacity, test.limit.Window, got, test.interval)
		}
		if got := test.limit.Drain(); got != test.drain {
			t.Errorf("%d in %v, burst %d: drains in %v, want %v", test.limit.Capacity, test.limit.Window, test.limit.Burst, got, test.drain)
		}
	}
}

func TestFull(t *testing.T) {
	l := token(10, 10*sec, 5)
	var state limit.State
	state.Take(&l, epoch, 0)
	if full, ok := state.Full(); ok {
		t.Errorf("a bucket never charged is full at %d", full)
	}
	for _, step := range []struct {
		at   time.Duration
		cost int64
		full time.Duration
	}{
		{0, 3, 3 * sec}, {sec, 0, 3 * sec}, {sec, 1, 4 * sec}, {-sec, 1, 5 * sec}, {5 * sec, 1, 6 * sec}, {9 * sec, 1, 10 * sec},
	} {
		state.Take(&l, epoch.Add(step.at), step.cost)
		if full, ok := state.Full(); !ok || full != epoch.Add(step.full).UnixNano() {
			t.Errorf("after %d at %v: full at %d, want %v", step.cost, step.at, full-epoch.UnixNano(), step.full)
		}
	}
}

// TestStoredBucket decides on stored times, including the most distant ones.
func TestStoredBucket(t *testing.T) {
	l := leaky(10, 10*sec, 5)
	for _, test := range []struct {
		full int64
		want limit.Result // of a cost of 2
	}{
		{epoch.UnixNano(), limit.Result{Allowed: true, Remaining: 5}},
		{epoch.UnixNano() - 1, limit.Result{Allowed: true, Remaining: 5}},
		{0, limit.Result{Allowed: true, Remaining: 5}},
		{epoch.UnixNano() + 1, limit.Result{Allowed: true, Remaining: 4, Reset: 1, Delay: 1}},
		{epoch.Add(3 * sec).UnixNano(), limit.Result{Allowed: true, Remaining: 2, Reset: 3 * sec, Delay: 3 * sec}},
		{epoch.Add(3*sec).UnixNano() + 1, limit.Result{Remaining: 1, Reset: 3*sec + 1, RetryAfter: 1}},
		{epoch.Add(5 * sec).UnixNano(), limit.Result{Reset: 5 * sec, RetryAfter: 2 * sec}},
		{epoch.Add(time.Hour).UnixNano(), limit.Result{Reset: time.Hour, RetryAfter: time.Hour - 3*sec}},
		{math.MaxInt64, limit.Result{Reset: time.Duration(math.MaxInt64 - epoch.UnixNano()), RetryAfter: time.Duration(math.MaxInt64-epoch.UnixNano()) - 3*sec}},
	} {
		state := limit.NewBucket(test.full)
		if got := state.Decide(&l, epoch, 2); got != test.want {
			t.Errorf("full at %d: got %+v, want %+v", test.full, got, test.want)
		}
	}
}
