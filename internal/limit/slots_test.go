package limit_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestZeroCost checks that zero cost is allowed even after a charge of twice
// the capacity.
func TestZeroCost(t *testing.T) {
	for _, l := range everyAlgorithm() {
		var state limit.State
		reset := state.Take(&l, epoch, 2*l.MaxCost()).Reset
		if got, want := state.Decide(&l, epoch, 0), (limit.Result{Allowed: true, Reset: reset}); got != want {
			t.Errorf("%s: got %+v, want %+v", l.Algorithm, got, want)
		}
	}
}

func TestRefund(t *testing.T) {
	l := sliding(3, 10*sec, sec)
	var state limit.State
	state.Take(&l, epoch, 3)
	slot, _ := state.Newest()
	if got := state.Refund(slot, 2); got != 2 {
		t.Errorf("refunded %d, want 2", got)
	}
	if got := state.Refund(slot, 5); got != 1 {
		t.Errorf("refunded %d, want the 1 that was left", got)
	}
	if got := state.Refund(slot-1, 1); got != 0 {
		t.Errorf("refunded %d out of a slot never charged", got)
	}
	if h, ok := state.Newest(); !ok || h != slot {
		t.Errorf("newest slot is %d, %v: time ran backwards", h, ok)
	}
	if got := state.Decide(&l, epoch, 1); got.Reset != 0 {
		t.Errorf("reset %v of an empty key", got.Reset)
	}
	if got := state.Expiry(&l, epoch); got != 11*sec {
		t.Errorf("expires in %v, want 11s: a late clock must still find the newest slot", got)
	}
}

// TestRefundedSlots checks that retry-after and reset ignore slots whose units
// were refunded.
func TestRefundedSlots(t *testing.T) {
	l := sliding(4, 10*sec, sec)
	var state limit.State
	for _, at := range []time.Duration{0, sec, 2 * sec} {
		state.Take(&l, epoch.Add(at), 1)
	}
	first := l.SlotAt(epoch)
	for _, slot := range []int64{first, first + 2} {
		if got := state.Refund(slot, 1); got != 1 {
			t.Errorf("refunded %d from slot %d, want 1", got, slot-first)
		}
	}
	got := state.Decide(&l, epoch.Add(2*sec), 4)
	if want := (limit.Result{Remaining: 3, Reset: 10 * sec, RetryAfter: 10 * sec}); got != want {
		t.Errorf("got %+v, want %+v: the one unit left is of slot 1", got, want)
	}
}

// TestStoredSlots decides on a stored state with slots that have left every
// window.
func TestStoredSlots(t *testing.T) {
	l, h := sliding(9, 10*sec, sec), epoch.Unix()
	state := limit.State{Slots: limit.NewSlots([]limit.Slot{{Number: h - 11, Units: 8}, {Number: h - 10, Units: 2}, {Number: h, Units: 3}})}
	if got := state.Used(&l, epoch); got != 5 {
		t.Errorf("%d used, want 5: slot -11 has left the window, slot -10 has not", got)
	}
	if got := state.Used(&l, epoch.Add(-sec)); got != 5 {
		t.Errorf("%d used by a late clock, want 5 too", got)
	}
	if got := state.Used(&l, epoch.Add(sec)); got != 3 {
		t.Errorf("%d used in the next slot, want 3", got)
	}
	if got := state.Decide(&l, epoch, 5); got.Allowed || got.RetryAfter != sec || got.Remaining != 4 {
		t.Errorf("got %+v, want one more second for the fifth unit", got)
	}
	state.Take(&l, epoch.Add(sec), 1)
	if want := []limit.Slot{{Number: h, Units: 3}, {Number: h + 1, Units: 1}}; !slices.Equal(slices.Collect(state.All()), want) {
		t.Errorf("slots %v, want %v: a new slot drops slots that have left the window", slices.Collect(state.All()), want)
	}
}

// TestNeverCharged: nothing expires, also where slot 0 is far ahead.
func TestNeverCharged(t *testing.T) {
	for _, l := range everyAlgorithm() {
		if got := new(limit.State).Expiry(&l, time.Unix(-1_700_000_040, 0)); got != 0 {
			t.Errorf("%s never charged expires in %v", l.Algorithm, got)
		}
	}
}

// everyAlgorithm returns a limit of each algorithm, with windows of ten
// seconds.
func everyAlgorithm() []limit.Limit {
	return []limit.Limit{
		sliding(5, 10*sec, sec), fixed(5, 10*sec), weighted(5, 10*sec), exact(5, 10*sec), token(5, 10*sec, 7), leaky(5, 10*sec, 3),
		calendar(5, &limit.Calendar{Unit: limit.Day, Location: time.UTC}),
	}
}

// TestHugeCost charges costs for which used + cost, or cost × interval, would
// overflow.
func TestHugeCost(t *testing.T) {
	for _, l := range []limit.Limit{
		sliding(limit.MaxCapacity, 10*sec, sec), fixed(limit.MaxCapacity, sec), weighted(limit.MaxCapacity, limit.MaxWindow),
		exact(limit.MaxLog, sec), token(1, limit.MaxDrain/2, 2), leaky(limit.MaxCapacity, limit.MaxCapacity, limit.MaxCapacity),
	} {
		var state limit.State
		state.Take(&l, epoch, l.MaxCost())
		for _, cost := range []int64{l.MaxCost() + 1, limit.MaxCapacity + 1, 1 << 62, 1<<63 - 1} {
			if got := state.Decide(&l, epoch, cost); got.Allowed || got.RetryAfter != limit.Never || got.Remaining != 0 {
				t.Errorf("%s: a cost of %d gets %+v", l.Algorithm, cost, got)
			}
		}
	}
}

// TestClone checks that a charge of a clone does not change the original.
func TestClone(t *testing.T) {
	for _, l := range []limit.Limit{sliding(3, 10*sec, sec), token(3, 10*sec, 3)} {
		var state limit.State
		state.Take(&l, epoch, 1)
		clone := state.Clone()
		if got, want := clone.Decide(&l, epoch, 1), state.Decide(&l, epoch, 1); got != want {
			t.Errorf("%s: the clone decides %+v, the original %+v", l.Algorithm, got, want)
		}
		clone.Take(&l, epoch, 2)
		if got := state.Decide(&l, epoch, 1); got.Remaining != 2 {
			t.Errorf("%s: charging the clone has changed the original: %+v", l.Algorithm, got)
		}
	}
}

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

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		limit           limit.Limit
		interval, drain time.Duration
	}{
		{token(10, 10*sec, 5), sec, 5 * sec},
		{token(3, 10*sec, 3), 3333333334, 10000000002},
		{leaky(limit.MaxCapacity, limit.MaxCapacity, limit.MaxCapacity), 1, limit.MaxCapacity},
		{leaky(limit.MaxCapacity, limit.MaxDrain, 1), 317, 317}, // ⌈316,224,000 s / 999,999,999,999,999⌉
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

// TestStoredBucket decides on stored times, including the most distant ones.
func TestStoredBucket(t *testing.T) {
	l := leaky(10, 10*sec, 5)
	for _, test := range []struct {
		full int64
		want limit.Result // of a cost of 2
	}{
		{epoch.UnixNano(), limit.Result{Allowed: true, Remaining: 5}},
		{epoch.UnixNano() - 1, limit.Result{Allowed: true, Remaining: 5}},
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
