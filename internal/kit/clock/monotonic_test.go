package clock_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

// TestMonotonic: limiters count by the machine's monotonic clock. A time that
// was read from the wall clock would show its monotonic part.
func TestMonotonic(t *testing.T) {
	now := clock.Monotonic()
	first, before := now(), time.Now()
	if first != first.Round(0) {
		t.Errorf("%v is a reading of the wall clock", first)
	}
	for time.Since(before) < time.Millisecond {
	}
	if passed := now().Sub(first); passed < time.Millisecond {
		t.Errorf("%v have passed, want 1ms at least", passed)
	}
}
