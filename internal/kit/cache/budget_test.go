package cache_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
)

// TestBudget is a trace of a budget of three loads and one more every ten
// seconds: how many of ten callers get a load at a moment.
func TestBudget(t *testing.T) {
	b := cache.Budget{Burst: 3, PerSecond: 0.1}
	for _, step := range []struct {
		at   time.Duration
		want int
	}{
		{0, 3},
		{9 * time.Second, 0},
		{10 * time.Second, 1},
		{8 * time.Second, 0}, // requests side by side pass different times
		{30 * time.Second, 2},
		{time.Hour, 3},
		{0, 0}, // the clock was set back
		{10 * time.Second, 1},
	} {
		got := 0
		for range 10 {
			if b.Take(epoch.Add(step.at)) {
				got++
			}
		}
		if got != step.want {
			t.Errorf("at %v: %d loads, want %d", step.at, got, step.want)
		}
	}
	b.Refund()
	if now := epoch.Add(10 * time.Second); !b.Take(now) || b.Take(now) {
		t.Error("want one load after a refund")
	}
}
