package limit_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestFirstSlotsToLeave checks that a caller waits for as many slots as its cost
// needs, and for no later one.
func TestFirstSlotsToLeave(t *testing.T) {
	l := sliding(3, 10*sec, sec)
	var state limit.State
	for _, at := range []time.Duration{0, sec, 2 * sec} {
		state.Take(&l, epoch.Add(at), 1)
	}
	for cost, want := range map[int64]time.Duration{1: 9 * sec, 2: 10 * sec, 3: 11 * sec} {
		if got := state.Decide(&l, epoch.Add(2*sec), cost).RetryAfter; got != want {
			t.Errorf("a cost of %d waits for %v, want %v", cost, got, want)
		}
	}
}

// TestSlotsBefore1970 checks slots with negative numbers, which later callers
// leave, and which are empty once their units are refunded.
func TestSlotsBefore1970(t *testing.T) {
	l := sliding(3, 10*sec, sec)
	var state limit.State
	state.Take(&l, time.Unix(-5, 0), 1)
	for at, want := range map[time.Duration]int64{-6 * sec: -5, -4500 * ms: -5, 500 * ms: 0, 5500 * ms: 5} {
		if got := state.Current(&l, time.Unix(0, int64(at))); got != want {
			t.Errorf("a charge at %v goes to slot %d, want %d", at, got, want)
		}
	}
	state.Refund(-5, 1)
	if got := state.Decide(&l, time.Unix(-5, 0), 1).Reset; got != 0 {
		t.Errorf("an empty key resets in %v", got)
	}
}

// TestAllStops: a loop over the slots may end before the last one.
func TestAllStops(t *testing.T) {
	slots := limit.NewSlots([]limit.Slot{{Number: 1, Units: 2}, {Number: 3, Units: 4}, {Number: 5, Units: 6}})
	for s := range slots.All() {
		if s.Number != 1 {
			t.Errorf("the first slot is %d, want 1", s.Number)
		}
		break
	}
}
