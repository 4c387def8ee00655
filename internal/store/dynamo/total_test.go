package dynamo_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestTotalNeverEnds fills 10,000 windows of the largest capacity, whose sum
// exceeds 63 bits. No charge is refused, and no window allows a unit more.
func TestTotalNeverEnds(t *testing.T) {
	store := dynamo.New(dynamomodel.New("counters", "k"), "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	c := &limit.Charge{Key: key, Limits: []limit.Limit{storetest.Fixed(limit.MaxCapacity, time.Second)}, Costs: []int64{limit.MaxCapacity}}
	var first string // the first generation
	var last limit.Receipt
	var now time.Time
	for n := range 10_000 {
		now = epoch.Add(time.Duration(n) * time.Second)
		var v limit.Verdict
		if err := store.Charge(t.Context(), now, c, &v); err != nil || !v.Allowed {
			t.Fatalf("window %d: %+v, error %v", n, v.Result, err)
		}
		last, first = v.Receipt, cmp.Or(first, v.Receipt.Generation)
	}
	if last.Generation == first {
		t.Fatal("there was one generation")
	}
	// A receipt of an earlier generation with the same slots is still good.
	last.Generation = first
	if err := store.Settle(t.Context(), now, c, &last, []int64{-1}); err != nil {
		t.Fatal(err)
	}
	c.Costs[0] = 1
	for _, want := range []bool{true, false} {
		var v limit.Verdict
		if err := store.Charge(t.Context(), now, c, &v); err != nil || v.Allowed != want {
			t.Errorf("after one unit was refunded: %+v, error %v, want %t", v.Result, err, want)
		}
	}
}

// TestCorrectionsBeyondAllBounds charges more and more to one window. When its
// units would leave 63 bits, a correction is an error. The counter stays readable,
// and the next window is empty.
func TestCorrectionsBeyondAllBounds(t *testing.T) {
	table := dynamomodel.New("counters", "k")
	c := &limit.Charge{Key: key, Limits: []limit.Limit{storetest.Fixed(limit.MaxCapacity, time.Second)}, Costs: []int64{1}}
	stores := make([]*dynamo.Store, 2)
	for i := range stores {
		stores[i] = dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
	}
	var v limit.Verdict
	if err := stores[0].Charge(t.Context(), epoch, c, &v); err != nil || !v.Allowed {
		t.Fatalf("%+v, error %v", v.Result, err)
	}
	corrections := 0
	for ; ; corrections++ {
		if err := stores[1].Settle(t.Context(), epoch, c, &v.Receipt, []int64{limit.MaxCapacity}); errors.Is(err, limit.ErrUndecided) {
			break
		} else if err != nil || corrections > 10_000 {
			t.Fatalf("after %d corrections: error %v", corrections, err)
		}
	}
	for _, want := range []bool{false, true} {
		at := time.Duration(0)
		if want {
			at = time.Second
		}
		if err := stores[0].Charge(t.Context(), epoch.Add(at), c, &v); err != nil || v.Allowed != want {
			t.Errorf("after %v: %+v, error %v, want %t", at, v.Result, err, want)
		}
	}
	if corrections < 6_000 {
		t.Errorf("%d corrections", corrections)
	}
}
