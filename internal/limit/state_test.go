package limit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// slots returns the state of a counter with these units in slots of a second
// from the epoch.
func slots(units ...int64) limit.State {
	var all []limit.Slot
	for i, n := range units {
		all = append(all, limit.Slot{Number: epoch.Unix() + int64(i), Units: n})
	}
	return limit.State{Slots: limit.NewSlots(all)}
}

// TestConsistent checks states after a charge of two units, a second after the
// epoch.
func TestConsistent(t *testing.T) {
	now := epoch.Add(sec)
	full := func(after time.Duration) limit.State {
		return limit.NewBucket(now.Add(after).UnixNano())
	}
	for _, test := range []struct {
		name  string
		limit limit.Limit
		state limit.State
		want  bool
	}{
		{"only the cost", sliding(5, 3*sec, sec), slots(0, 2), true},
		{"a full window", sliding(5, 3*sec, sec), slots(3, 2), true},
		{"one unit too many in the window", sliding(5, 3*sec, sec), slots(3, 3), false},
		{"less than the cost in the slot", sliding(5, 3*sec, sec), slots(3, 1), false},
		{"charged to a later slot, by a late clock", sliding(5, 3*sec, sec), slots(0, 0, 2), true},
		{"last charged in the slot before", sliding(5, 3*sec, sec), slots(2), false},
		{"nothing", sliding(5, 3*sec, sec), limit.State{}, false},
		{"an older window with a larger weight by this clock", weighted(5, sec), slots(3, 5), true},
		{"a weighted slot above the capacity", weighted(5, sec), slots(0, 6), false},
		{"a bucket with only the cost", token(1, sec, 3), full(2 * sec), true},
		{"a full bucket", token(1, sec, 3), full(3 * sec), true},
		{"an overdrawn bucket", token(1, sec, 3), full(3*sec + 1), false},
		{"less than the cost in a bucket", token(1, sec, 3), full(2*sec - 1), false},
		{"a bucket never charged", token(1, sec, 3), limit.State{}, false},
		{"a cost above the burst", token(1, sec, 1), full(2 * sec), false},
	} {
		if got := test.state.Consistent(&test.limit, now, 2); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	bucket, state := token(1, sec, 3), full(3*sec)
	if state.Consistent(&bucket, now, 1<<62) {
		t.Error("a bucket is consistent with a cost whose time overflows")
	}
}

// TestSettle corrects a charge of three units, two seconds later.
func TestSettle(t *testing.T) {
	for _, test := range []struct {
		name       string
		generation string
		delta      int64
		want       []limit.Slot
	}{
		{"nothing to correct", "generation", 0, []limit.Slot{{Number: 0, Units: 3}}},
		{"one back, from the slot charged", "generation", -1, []limit.Slot{{Number: 0, Units: 2}}},
		{"one more, now", "generation", 1, []limit.Slot{{Number: 0, Units: 3}, {Number: 2, Units: 1}}},
		{"a charge of zero cost has nothing to refund", "", -2, []limit.Slot{{Number: 0, Units: 3}}},
		{"and may have cost something after all", "", 4, []limit.Slot{{Number: 0, Units: 3}, {Number: 2, Units: 4}}},
	} {
		c := &limit.Charge{Key: "k", Limits: []limit.Limit{sliding(5, 3*sec, sec)}, Costs: []int64{3}}
		states, r := []limit.State{slots(3)}, limit.Receipt{Generation: test.generation}
		r.Slots[0] = epoch.Unix()
		limit.Settle(states, c, epoch.Add(2*sec), &r, []int64{test.delta})
		got := slices.Collect(states[0].All())
		for i := range test.want {
			if want := test.want[i]; i >= len(got) || got[i].Number-epoch.Unix() != want.Number || got[i].Units != want.Units {
				t.Errorf("%s: %v", test.name, got)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestOneSlot: a state drops its newest slot too once that counts no longer. So
// the state of most keys never takes more room than one slot.
func TestOneSlot(t *testing.T) {
	for _, l := range []limit.Limit{sliding(3, 10*sec, sec), fixed(3, 10*sec), weighted(3, 10*sec), exact(3, 10*sec)} {
		var state limit.State
		for i := range 3 {
			state.Take(&l, epoch.Add(time.Duration(i)*time.Minute), 1)
			if n := len(slices.Collect(state.All())); n != 1 {
				t.Errorf("%s: %d slots in minute %d", l.Algorithm, n, i)
			}
		}
	}
}
