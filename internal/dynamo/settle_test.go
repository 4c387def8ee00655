package dynamo_test

import "testing"

func TestGiveBack(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	if err := w.settle("A", w.last["A"], 1, -2); err != nil {
		t.Fatal(err)
	}
	w.must(true, "A", 1, 2)
	w.must(false, "A", 1, 1)
	if got := units(w.item()["aC"]); got != 5 {
		t.Errorf("total %d, want 5: it never falls", got)
	}
}

func TestGiveBackNeverBelowZero(t *testing.T) {
	w := newWorld(t, 5, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 1)
	for _, name := range []string{"A", "A", "stranger"} { // whoever sends the same receipt again
		if err := w.settle(name, w.last["A"], 0, -2); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.slot(0); got != 1 {
		t.Errorf("slot 0 holds %d units, want B's one", got)
	}
}

func TestGiveBackTooLate(t *testing.T) {
	w := newWorld(t, 3, 2)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 1, 1)
	receipt := w.last["A"]
	w.must(true, "late", 3, 1)
	if err := w.settle("stranger", receipt, 2, -2); err != nil { // by its clock the slot still counts
		t.Fatal(err)
	}
	if got := w.most(); got > 3 {
		t.Errorf("%d units in a window", got)
	}
	w.calls("A")
	if err := w.settle("A", receipt, 9, -2); err != nil {
		t.Fatal(err)
	}
	w.cost("A", 0, 0) // its clock tells that the units are worth nothing now
}

// TestGiveBackOnce loses the answer to a settlement: sent again, it could give back another caller's units.
func TestGiveBackOnce(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 2)
	w.must(true, "B", 0, 2)
	w.calls("A")
	w.wires["A"].lose = true
	if err := w.settle("A", w.last["A"], 0, -2); err == nil {
		t.Error("a lost answer is no success")
	}
	w.cost("A", 0, 1)
	if got := w.slot(0); got != 2 {
		t.Errorf("slot 0 holds %d units, want B's 2", got)
	}
}

func TestChargeMoreGoesToTheNewestSlot(t *testing.T) {
	w := newWorld(t, 5, 2)
	w.must(true, "A", 0, 1)
	w.must(true, "B", 3, 2)
	if err := w.settle("A", w.last["A"], 0, 4); err != nil { // late, and above the capacity
		t.Fatal(err)
	}
	if got, h := w.slot(3), units(w.item()["aH"]); got != 6 || h != w.time(3).Unix() {
		t.Errorf("slot 3 holds %d units, newest slot %d; want 6, in slot 3", got, h-epoch.Unix())
	}
	w.must(false, "stranger", 5, 1)
	w.must(true, "stranger", 6, 1)
}
