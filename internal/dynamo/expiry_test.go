package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

func TestTTL(t *testing.T) {
	w := newWorld(t, 3, 10)
	ttl := func() int64 { w.t.Helper(); return units(w.item()["ttl"]) - epoch.Unix() }
	w.must(true, "A", 0, 1)
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s after the epoch, want the end of slot 10 and an hour", got)
	}
	w.must(true, "A", 5, 1) // the wall still stands at the epoch: 11 s to the end of slot 15
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s, want 11 s and an hour from the wall", got)
	}
	w.must(true, "A", 2, 1) // charged in slot 5, whose window ends 14 s from slot 2
	if got := ttl(); got != 14+3600 {
		t.Errorf("ttl is %d s, want 14 s and an hour: reckoned from the slot charged, not from the clock", got)
	}
	if err := w.settle("A", w.last["A"], 7, 1); err != nil {
		t.Fatal(err)
	}
	if got, h := ttl(), units(w.item()["aH"]); got != 11+3600 || h != w.time(7).Unix() {
		t.Errorf("ttl is %d s, newest slot %d: charging more must set both", got, h)
	}
}

func TestTTLCoversLimitsThatCostNothing(t *testing.T) {
	w := newWorld(t, 3, 10)
	c := w.charge(1)
	c.Limits = append(c.Limits, limit.Limit{Name: "b", Capacity: 5, Window: time.Hour, Granularity: time.Minute})
	c.Costs = []int64{1, 0}
	if err := w.caller("A").Charge(context.Background(), epoch, c, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if got := units(w.item()["ttl"]) - epoch.Unix(); got != 3660+3600 {
		t.Errorf("ttl is %d s, want that of the hour's window", got)
	}
}

func TestExpiredSlotsAreRemoved(t *testing.T) {
	w := newWorld(t, 1000, 4)
	for slot := range int64(5) {
		w.must(true, "A", slot, 1)
	}
	w.must(true, "A", 6, 1)
	for slot, want := range []int64{0, 0, 1, 1, 1, 0, 1} {
		if got := w.slot(int64(slot)); got != want {
			t.Errorf("slot %d holds %d units, want %d: the window is 2 … 6", slot, got, want)
		}
	}
	if got := units(w.item()["aC"]); got != 6 {
		t.Errorf("total %d, want 6: it never falls", got)
	}
}

// TestRemovalsAreBounded lets 300 slots expire under callers without views, then charges twice with one.
func TestRemovalsAreBounded(t *testing.T) {
	w := newWorld(t, 100_000, 300)
	for slot := range int64(300) {
		w.must(true, "A", slot, 1)
	}
	w.must(true, "A", 1000, 1)
	left := strings.Count(fmt.Sprint(w.item()), "Value:1 ") // slots with a unit
	if removed := strings.Count(*w.wires["A"].sent[300].UpdateExpression, "#a") - len("C H F N s s"); left == 1 || removed > 210 {
		t.Errorf("%d slots left, about %d removed: one write names 200 at most", left, removed)
	}
	w.must(true, "A", 1001, 1)
	if n := len(w.item()); n != 2+4+2+1 {
		t.Errorf("%d attributes left: the second write removes the rest", n)
	}
}

// strangers charge a key at the slots from 0, one each, with no views of it: nobody could name the slots that expire.
func (w *world) strangers(slots int64) {
	w.t.Helper()
	for slot := range slots {
		w.must(true, fmt.Sprint("cold-", slot), slot, 1)
	}
}

// elsewhere has a caller charge another key, which sends the tidying that is due.
func (w *world) elsewhere(name string, slot int64) {
	w.t.Helper()
	other := w.charge(1)
	other.Key = "rule|user:2|00000000"
	if err := w.caller(name).Charge(context.Background(), w.time(slot), other, &limit.Verdict{}); err != nil {
		w.t.Fatal(err)
	}
}

func TestTidying(t *testing.T) {
	w := newWorld(t, 1000, 10)
	w.strangers(8)
	w.must(true, "B", 40, 1) // sees eight expired slots of a window of ten
	if w.slot(0) != 1 {
		t.Fatal("slot 0 went too early")
	}
	w.elsewhere("B", 40)
	if w.slot(0)+w.slot(7) != 0 || w.slot(40) != 1 || units(w.item()["aC"]) != 9 {
		t.Errorf("item after tidying: %v", w.item())
	}
	w.calls("B")
	w.must(true, "B", 41, 1)
	w.cost("B", 0, 1)
}

// TestTidyingIsWorthIt leaves fewer slots behind than are worth a write.
func TestTidyingIsWorthIt(t *testing.T) {
	w := newWorld(t, 1000, 4)
	w.strangers(4)
	w.must(true, "B", 40, 1)
	w.calls("B")
	w.elsewhere("B", 40)
	w.cost("B", 0, 1)
}

// TestTidyingTouchesNothingNew gives the key new charges between the sight of the expired slots and their removal.
func TestTidyingTouchesNothingNew(t *testing.T) {
	w := newWorld(t, 1000, 10)
	w.strangers(8)
	w.must(true, "B", 40, 1)
	w.must(true, "C", 40, 1)
	w.must(true, "C", 41, 1)
	w.elsewhere("B", 40)
	if w.slot(0)+w.slot(7) != 0 || w.slot(40) != 2 || w.slot(41) != 1 || units(w.item()["aC"]) != 11 {
		t.Errorf("item after tidying: %v", w.item())
	}
}

// TestTidyingLeavesAnotherLife resets the key in between, and charges the same old slots again by a clock put back.
func TestTidyingLeavesAnotherLife(t *testing.T) {
	w := newWorld(t, 1000, 10)
	w.strangers(8)
	w.must(true, "B", 40, 1)
	w.reset()
	w.must(true, "C", 0, 1)
	w.elsewhere("B", 40)
	if w.slot(0) != 1 {
		t.Errorf("another life's slot is gone: %v", w.item())
	}
}
