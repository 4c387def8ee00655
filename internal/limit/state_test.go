package limit_test

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
		{"a full window", sliding(5, 3*sec, sec), slots(3, 2), true},
		{"one unit too many in the window", sliding(5, 3*sec, sec), slots(3, 3), false},
		{"less than the cost in the slot", sliding(5, 3*sec, sec), slots(3, 1), false},
		{"charged to a later slot, by a late clock", sliding(5, 3*sec, sec), slots(0, 0, 2), true},
		{"last charged in the slot before", sliding(5, 3*sec, sec), slots(2), false},
		{"nothing", sliding(5, 3*sec, sec), limit.State{}, false},
		{"an older window with a larger weight by this clock", weighted(5, sec), slots(3, 5), true},
		{"a weighted slot above the capacity", weighted(5, sec), slots(0, 6), false},
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
		if err := limit.Settle(states, nil, c, epoch.Add(2*sec), &r, []int64{test.delta}); err != nil {
			t.Error(err)
		}
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

// TestFresh: the bound is ten seconds to either side, as docs/redis.md and
// docs/accuracy.md promise.
func TestFresh(t *testing.T) {
	taken := time.Unix(1_700_000_000, 0)
	for age, want := range map[time.Duration]bool{
		0: true, 10 * time.Second: true, 10*time.Second + 1: false, -10 * time.Second: true, -10*time.Second - 1: false,
	} {
		if got := limit.Fresh(taken, taken.Add(age)); got != want {
			t.Errorf("after %v: %v, want %v", age, got, want)
		}
	}
}

// TestTimesFarApart: a limit that was used up at any time that callers may
// state denies a caller whose clock is behind, however far, and is unused long after.
func TestTimesFarApart(t *testing.T) {
	first, last := time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, -1, time.UTC)
	for _, at := range []time.Time{first, last} {
		if !limit.InRange(at) || limit.InRange(first.Add(-1)) || limit.InRange(last.Add(1)) {
			t.Fatalf("the range does not begin or end at %v", at)
		}
	}
	long := []limit.Limit{
		sliding(5, limit.MaxWindow, limit.MaxWindow/600), sliding(5, limit.MaxWindow, limit.MaxWindow), fixed(5, limit.MaxWindow),
		weighted(5, limit.MaxWindow), exact(5, limit.MaxWindow), token(1, limit.MaxDrain/2, 2), leaky(1, limit.MaxDrain/2, 2),
	}
	for _, l := range append(everyAlgorithm(), long...) {
		var early, late limit.State
		late.Take(&l, last, l.MaxCost())
		if got := late.Decide(&l, first, 1); got.Allowed || got.RetryAfter <= 0 || got.Reset <= 0 {
			t.Errorf("%s of %v: a caller far behind gets %+v", l.Algorithm, l.Window, got)
		}
		early.Take(&l, first, l.MaxCost())
		if got, want := early.Decide(&l, last, 1), (limit.Result{Allowed: true, Remaining: l.MaxCost()}); got != want {
			t.Errorf("%s of %v: long after, a caller gets %+v", l.Algorithm, l.Window, got)
		}
	}
}

// TestApply: Apply is Decide and then Take, also into a verdict that has been
// used before, for limits of all algorithms.
func TestApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &limit.Charge{Key: "k"}
		for range rapid.IntRange(1, 3).Draw(t, "limits") {
			c.Limits = append(c.Limits, drawLimit(t))
		}
		c.Costs = make([]int64, len(c.Limits))
		applied, taken := make([]limit.State, len(c.Limits)), make([]limit.State, len(c.Limits))
		got, now := limit.Verdict{}, epoch
		for range rapid.IntRange(1, 20).Draw(t, "charges") {
			now = now.Add(drawStep(t, &c.Limits[0]))
			for i := range c.Costs {
				c.Costs[i] = rapid.Int64Range(0, 4).Draw(t, "cost")
			}
			var want limit.Verdict
			limit.Decide(taken, nil, c, now, &want)
			changed := want.Allowed && !c.ZeroCost()
			if changed {
				limit.Take(taken, nil, c, now, &want)
			}
			got.Receipt.Generation, got.Receipt.Serial = "of the call before", 7
			if limit.Apply(applied, nil, c, now, &got) != changed {
				t.Fatalf("Apply reports %t for %+v", !changed, want)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("verdicts differ (-Decide and Take +Apply):\n%s", diff)
			}
			for i := range applied {
				if a, b := slices.Collect(applied[i].All()), slices.Collect(taken[i].All()); !slices.Equal(a, b) {
					t.Fatalf("limit %d: Apply leaves %v, Decide and Take %v", i, a, b)
				}
				a, _ := applied[i].Full()
				if b, _ := taken[i].Full(); a != b {
					t.Fatalf("limit %d: Apply leaves a bucket that is full at %d, Decide and Take at %d", i, a, b)
				}
			}
		}
	})
}
