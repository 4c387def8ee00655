package limit_test

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestWeight compares the weighted use with that of big integers, up to the
// largest numbers.
func TestWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.Int64Range(1, int64(limit.MaxWindow)).Draw(t, "window"))
		before := rapid.Int64Range(0, 3*limit.MaxCapacity).Draw(t, "before") // settlements may exceed the capacity
		current := rapid.Int64Range(0, limit.MaxCapacity).Draw(t, "current")
		l := weighted(limit.MaxCapacity, window)
		slot := l.SlotAt(epoch)
		start := time.Unix(0, slot*int64(window))
		elapsed := time.Duration(rapid.Int64Range(0, int64(window)-1).Draw(t, "elapsed"))
		state := limit.NewSlots([]limit.Slot{{Number: slot - 1, Units: before}, {Number: slot, Units: current}})

		covered := new(big.Int).Mul(big.NewInt(before), big.NewInt(int64(window-elapsed)))
		share, rest := covered.DivMod(covered, big.NewInt(int64(window)), new(big.Int))
		want := share.Int64() + current
		if rest.Sign() > 0 {
			want++
		}
		if got := state.Used(&l, start.Add(elapsed)); got != want {
			t.Fatalf("%d used, want %d", got, want)
		}
	})
}

// TestWeightOfLateClock checks that the window before has its full weight for a
// clock behind the newest slot.
func TestWeightOfLateClock(t *testing.T) {
	l := weighted(9, 10*sec)
	slot := l.SlotAt(epoch)
	state := limit.NewSlots([]limit.Slot{{Number: slot - 1, Units: 4}, {Number: slot, Units: 1}})
	for at, want := range map[time.Duration]int64{-time.Hour: 5, -1: 5, 0: 5, 1: 5, 2500*ms - 1: 5, 2500 * ms: 4, 10*sec - 1: 2, 10 * sec: 1, 20*sec - 1: 1, 20 * sec: 0} {
		if got := state.Used(&l, epoch.Add(at)); got != want {
			t.Errorf("%d used at %v, want %d", got, at, want)
		}
	}
}
