package dynamo_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// TestCallersOfAWrite has two callers wait for the write of a first one. The
// write that charges both names them.
func TestCallersOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		var callers []int
		c.table.before = func(ctx context.Context, _ int) error {
			of := dynamo.Callers(ctx)
			callers = append(callers, len(of))
			if slices.Contains(of, nil) {
				t.Error("a caller has no context")
			}
			return nil
		}
		c.charge(t.Context(), 3, 0)
		c.expect(t, 2, 0, 17, 18, 19)
		if !slices.Equal(callers, []int{1, 2}) {
			t.Errorf("the writes have %d callers", callers)
		}
	})
}

// TestCallersOfTwoSlots has callers of a later slot wait with those of an
// earlier one. No write charges both.
func TestCallersOfTwoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.charge(t.Context(), 3, 0)
		c.charge(t.Context(), 2, 1)
		c.expect(t, 3, 0, 15, 16, 17, 18, 19)
	})
}

// TestFirstCallerGathers has the first write fail, because another process took
// all units of an earlier window. The next write charges those in line too.
func TestFirstCallerGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd()
		c.table.before = func(ctx context.Context, write int) error {
			if write != 1 {
				return nil
			}
			other, all := dynamo.New(c.table.Table, "counters", dynamo.Options{Wall: time.Now}), twenty()
			all.Costs[0] = 20
			return other.Charge(ctx, epoch.Add(-2*time.Minute), all, &limit.Verdict{})
		}
		c.charge(t.Context(), 3, 0)
		c.expect(t, 2, 0, 17, 18, 19)
	})
}

// TestLeaseOfAFullCounter has others take all that a lease leaves. The lease
// still admits, though a snapshot shows that the counter is full.
func TestLeaseOfAFullCounter(t *testing.T) {
	w := newWorld(t, 100, 60)
	leased := w.charge(1)
	leased.Lease = 10
	charge := func(caller string, c *limit.Charge) (v limit.Verdict) {
		if err := w.caller(caller).Charge(context.Background(), w.time(0), c, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 22 {
		charge("A", leased)
	}
	others := charge("B", w.charge(1)).Remaining
	charge("B", w.charge(others))
	if v := charge("A", w.charge(50)); v.Allowed || v.Remaining != 0 {
		t.Fatalf("the counter is not full: %+v", v.Result)
	}
	if w.caller("A").Denies(w.time(0), leased, &limit.Verdict{}) || !charge("A", leased).Allowed {
		t.Error("the lease does not admit a charge")
	}
}
