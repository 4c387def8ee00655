package dynamo_test

import (
	"context"
	"testing"

	"github.com/slidegate/slidegate/internal/dynamo/protocoltest"
	"github.com/slidegate/slidegate/internal/limit"
)

// correct settles and wants this many writes and no error.
func (w *world) correct(name string, of limit.Receipt, slot, delta, writes int64) {
	w.t.Helper()
	w.calls(name)
	if err := w.settle(name, of, slot, delta); err != nil {
		w.t.Fatalf("%s at slot %d, %+d: %v", name, slot, delta, err)
	}
	w.cost(name, 0, writes)
}

func TestRefund(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	if err := w.settle("A", w.last["A"], 1, -2); err != nil {
		t.Fatal(err)
	}
	w.must(true, "A", 1, 2)
	w.must(false, "A", 1, 1)
	if got := protocoltest.Units(w.item()["aC"]); got != 5 {
		t.Errorf("total %d, want 5: it never falls", got)
	}
}

func TestRefundNeverBelowZero(t *testing.T) {
	w := newWorld(t, 5, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 1)
	for _, name := range []string{"A", "A", "C"} { // any caller may send the same receipt again
		if err := w.settle(name, w.last["A"], 0, -2); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.slot(0); got != 1 {
		t.Errorf("slot 0 has %d units, want B's one", got)
	}
}

func TestRefundTooLate(t *testing.T) {
	w := newWorld(t, 3, 2)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 1, 1)
	receipt := w.last["A"]
	w.must(true, "late", 3, 1)
	if err := w.settle("C", receipt, 2, -2); err != nil { // by its clock the slot still counts
		t.Fatal(err)
	}
	if got := w.most(); got > 3 {
		t.Errorf("%d units in a window", got)
	}
	w.calls("A")
	if err := w.settle("A", receipt, 9, -2); err != nil {
		t.Fatal(err)
	}
	w.cost("A", 0, 0) // by its clock a refund changes nothing now
}

// TestRefundOfAnother refunds what another process has charged. The snapshot of
// the process that refunds is older than the charge, and proves nothing.
func TestRefundOfAnother(t *testing.T) {
	w := newWorld(t, 9, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 1)
	w.must(true, "A", 0, 4)
	w.correct("B", w.last["A"], 0, -4, 1)
	w.must(true, "A", 1, 1)
	w.correct("B", w.last["A"], 1, -1, 1)
	if zero, one := w.slot(0), w.slot(1); zero != 3 || one != 0 {
		t.Errorf("slot 0 has %d units and slot 1 has %d, want 3 and 0", zero, one)
	}
}

// TestRefundOnce loses the answer to a settlement. Sent again, it could refund
// another caller's units.
func TestRefundOnce(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 2)
	w.calls("A")
	w.wires["A"].lose = true
	if err := w.settle("A", w.last["A"], 0, -2); err == nil {
		t.Error("a lost answer is no error")
	}
	w.cost("A", 0, 1)
	if got := w.slot(0); got != 2 {
		t.Errorf("slot 0 has %d units, want B's 2", got)
	}
}

func TestExtraChargeGoesToTheNewestSlot(t *testing.T) {
	w := newWorld(t, 5, 2)
	w.must(true, "A", 0, 1)
	w.must(true, "B", 3, 2)
	if err := w.settle("A", w.last["A"], 0, 4); err != nil { // late, and above the capacity
		t.Fatal(err)
	}
	if got, h := w.slot(3), protocoltest.Units(w.item()["aH"]); got != 6 || h != w.time(3).Unix() {
		t.Errorf("slot 3 has %d units, newest slot %d; want 6, in slot 3", got, h-epoch.Unix())
	}
	w.must(false, "C", 5, 1)
	w.must(true, "C", 6, 1)
}

// TestRefundAll refunds all units of a slot, with a snapshot and without one,
// up to the last slot of time in which they count.
func TestRefundAll(t *testing.T) {
	for _, test := range []struct{ slot, writes, left int64 }{{2, 1, 0}, {3, 0, 3}} {
		for _, name := range []string{"A", "C"} {
			w := newWorld(t, 3, 2)
			w.must(true, "A", 0, 3)
			w.correct(name, w.last["A"], test.slot, -3, test.writes)
			if got := w.slot(0); got != test.left {
				t.Errorf("%s at slot %d: %d units left, want %d", name, test.slot, got, test.left)
			}
		}
	}
}

// TestNothingToSettle checks that a correction of 0 makes no call, and that a
// charge that was not made has nothing to refund.
func TestNothingToSettle(t *testing.T) {
	w := newWorld(t, 3, 2)
	w.must(true, "A", 0, 3)
	w.correct("A", w.last["A"], 0, 0, 0)
	w.correct("C", w.last["A"], 0, 0, 0)
	w.correct("A", limit.Receipt{Slots: w.last["A"].Slots}, 0, -1, 0)
	if got := w.slot(0); got != 3 {
		t.Errorf("slot 0 has %d units, want 3", got)
	}
}

// TestSettleAfterReset settles a charge of the generation before. One write
// detects the new generation and changes nothing.
func TestSettleAfterReset(t *testing.T) {
	for _, delta := range []int64{-1, 1} {
		w := newWorld(t, 9, 2)
		w.must(true, "A", 0, 3)
		w.reset()
		w.correct("A", w.last["A"], 0, delta, 1)
		if len(w.item()) != 0 {
			t.Errorf("%+d created an item: %v", delta, w.item())
		}
		w.must(true, "B", 0, 4)
		w.correct("A", w.last["A"], 0, delta, 1)
		if got := w.slot(0); got != 4 {
			t.Errorf("%+d: slot 0 has %d units, want B's 4", delta, got)
		}
	}
}

// TestExtraChargeOfZeroCost settles charges of zero cost upwards. The units are
// charged now, to the current generation, because the receipt names none.
func TestExtraChargeOfZeroCost(t *testing.T) {
	w := newWorld(t, 9, 10)
	nothing := limit.Receipt{}
	nothing.Slots[0] = w.time(7).Unix()
	w.correct("A", nothing, 2, 1, 1) // creates the item
	w.must(true, "B", 5, 1)
	w.correct("A", nothing, 3, 1, 2) // fails once, and reads slot 5 from the answer
	w.correct("A", nothing, 4, 1, 1) // has slot 5 in its snapshot
	w.correct("C", nothing, 6, 1, 1)
	for slot, want := range map[int64]int64{2: 1, 3: 0, 4: 0, 5: 3, 6: 1, 7: 0} {
		if got := w.slot(slot); got != want {
			t.Errorf("slot %d has %d units, want %d", slot, got, want)
		}
	}
}

// TestExtraChargeByALateClock checks that an extra charge goes to the receipt's
// slot or a later one, because the newest slot cannot be earlier.
func TestExtraChargeByALateClock(t *testing.T) {
	w := newWorld(t, 9, 10)
	w.must(true, "A", 5, 1)
	w.correct("late", w.last["A"], 0, 2, 1)
	if got := w.slot(5); got != 3 {
		t.Errorf("slot 5 has %d units, want 3", got)
	}
}

// TestExtraChargeOfAnotherLimit checks that a limit whose cost was 0, and which
// was never charged in this generation, starts with its whole credit.
func TestExtraChargeOfAnotherLimit(t *testing.T) {
	w := newWorld(t, 3, 10)
	c := w.charge(1)
	c.Limits = append(c.Limits, limit.Limit{Name: "b", Capacity: 5, Window: w.limit.Window, Granularity: w.limit.Granularity})
	c.Costs = []int64{1, 0}
	var v limit.Verdict
	ctx := context.Background()
	if err := w.caller("A").Charge(ctx, epoch, c, &v); err != nil {
		t.Fatal(err)
	}
	if err := w.caller("A").Settle(ctx, epoch, c, &v.Receipt, []int64{-1, 2}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"aC": 1, "aF": 2, "aN": 3, "bC": 2, "bF": 3, "bN": 5, "bH": epoch.Unix()} {
		if got := protocoltest.Units(w.item()[name]); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
