package dynamo_test

import (
	"testing"

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
