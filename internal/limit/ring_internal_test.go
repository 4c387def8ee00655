package limit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRing compares a ring with a slice.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, next := newRing(rapid.IntRange(1, 9).Draw(t, "room")), int64(0)
		var want []Slot
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step < 3:
				next += rapid.Int64Range(1, 3).Draw(t, "distance")
				s := Slot{next, rapid.Int64Range(0, 5).Draw(t, "units")}
				r.push(s)
				want = append(want, s)
			case step == 3:
				q, k := next+rapid.Int64Range(0, 3).Draw(t, "later"), rapid.Int64Range(0, 20).Draw(t, "slots that still count")
				n, units := r.before(&Limit{Window: time.Duration(3 * k), Granularity: 3}, q)
				r.drop(n, units)
				want = slices.DeleteFunc(want, func(s Slot) bool { return s.Number < q-k })
			case step == 4 && len(want) > 0:
				i := rapid.IntRange(0, len(want)-1).Draw(t, "slot")
				units := rapid.Int64Range(0, 6).Draw(t, "refund")
				if got := r.refund(want[i].Number, units); got != min(units, want[i].Units) {
					t.Fatalf("refunded %d of %d, wanted %d", got, want[i].Units, units)
				}
				want[i].Units -= min(units, want[i].Units)
			default:
				r = r.clone()
			}
			checkRing(t, &r, want)
		}
	})
}

func checkRing(t *rapid.T, r *ring, want []Slot) {
	var got []Slot
	for i := range r.len() {
		got = append(got, *r.at(i))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the ring has %v, want %v", got, want)
	}
	if len(want) > 0 && r.first != want[0].Number {
		t.Fatalf("the first slot is %d, want %d", r.first, want[0].Number)
	}
	var sum, last int64
	has := false
	for _, s := range want {
		if sum += s.Units; s.Units > 0 {
			last, has = s.Number, true
		}
		if got := r.units(s.Number); got != s.Units {
			t.Fatalf("slot %d has %d units, want %d", s.Number, got, s.Units)
		}
	}
	if number, ok := r.last(); r.sum != sum || number != last || ok != has {
		t.Fatalf("%d units, the last in slot %d (%v); want %d, in %d (%v)", r.sum, number, ok, sum, last, has)
	}
}
