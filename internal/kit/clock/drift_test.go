package clock_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

func TestDrift(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 0, 1: 1, 5000: 1, 5001: 2, time.Second: 200 * time.Microsecond, -5001: 2, 10_000 * time.Second: 2 * time.Second,
	} {
		if got := clock.Drift(elapsed); got != want {
			t.Errorf("in %v: %v, want %v", elapsed, got, want)
		}
	}
}
