package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
)

func (w *world) must(allowed bool, name string, slot, cost int64) {
	w.t.Helper()
	if got, err := w.try(name, slot, cost); err != nil || got != allowed {
		w.t.Fatalf("%s at slot %d, cost %d: allowed %v, error %v; want %v", name, slot, cost, got, err, allowed)
	}
}

// calls returns what a caller has sent since the last time it was asked.
func (w *world) calls(name string) (reads, writes int64) {
	reads, writes = w.caller(name).Calls()
	seen := w.counted[name]
	w.counted[name] = [2]int64{reads, writes}
	return reads - seen[0], writes - seen[1]
}

func (w *world) cost(name string, reads, writes int64) {
	w.t.Helper()
	if r, n := w.calls(name); r != reads || n != writes {
		w.t.Errorf("%s: %d reads and %d writes, want %d and %d", name, r, n, reads, writes)
	}
}

func TestDenialByViewAsksNobody(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	w.cost("A", 0, 1)
	for slot := range int64(10) {
		w.must(false, "A", slot, 1)
	}
	w.cost("A", 0, 0)
	w.must(false, "A", 10, 1) // still younger than ten seconds, and slot 0 still counts
	w.must(true, "A", 11, 1)
	w.cost("A", 0, 1)
}

func TestOldViewIsCheckedBeforeItDenies(t *testing.T) {
	w := newWorld(t, 3, 60)
	w.must(true, "A", 0, 3)
	w.must(false, "A", 11, 1)
	w.cost("A", 1, 1)
	w.reset()
	w.must(false, "A", 12, 1) // the view is fresh again: the reset does not show yet
	w.must(true, "A", 22, 1)
	w.cost("A", 1, 1)
}

func TestColdFleetTakesOneWriteEach(t *testing.T) {
	w := newWorld(t, 20, 60)
	for i := range 20 {
		name := fmt.Sprint("cold-", i)
		w.must(true, name, int64(i), 1)
		w.cost(name, 0, 1)
	}
	w.must(false, "one more", 20, 1)
	w.cost("one more", 0, 1)
}

func TestIdleKey(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 3)
	w.calls("A")
	w.must(true, "A", 100, 1)
	w.cost("A", 0, 1) // its view proves the room
	w.must(true, "stranger", 200, 1)
	w.cost("stranger", 0, 2) // no view, and the credit is used up: the first attempt fetches one
}

func TestLateCallerIsInTheNewestSlot(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 5, 1)
	w.must(true, "late", 0, 1) // learns of slot 5 by failing once
	w.cost("late", 0, 2)
	w.must(true, "late", 1, 1)
	w.cost("late", 0, 1)
	if got := w.slot(5); got != 3 {
		t.Errorf("slot 5 holds %d units, want all 3", got)
	}
	w.must(false, "late", 15, 1)
	w.must(true, "late", 16, 1)
}

func TestItemGone(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 2)
	w.reset()
	w.must(true, "A", 1, 1) // fails without ALL_OLD, then makes the item anew
	w.cost("A", 0, 3)
	w.must(true, "A", 1, 2)
	w.must(false, "A", 1, 1)
}

func TestThreeAttempts(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.must(true, "A", 0, 1)
	w.tamper = condition("#aH <= :aq", "(#aH <= :aq AND #aH < :zero)") // nobody gets through
	_, err := w.try("B", 0, 1)
	if !errors.Is(err, dynamo.ErrContended) {
		t.Errorf("error %v, want ErrContended", err)
	}
	w.cost("B", 0, 3)
}

// TestLastAnswerDecides takes the last unit away under a caller's third attempt: the answer to it denies.
func TestLastAnswerDecides(t *testing.T) {
	w := newWorld(t, 4, 10)
	w.must(true, "A", 0, 1)
	w.caller("B")
	w.wires["B"].tamper = func(in *dynamodb.UpdateItemInput) {
		*in.ConditionExpression = "#aH < :zero AND " + *in.ConditionExpression
		w.must(true, fmt.Sprint("other-", len(w.wires["B"].sent)), 0, 1)
	}
	w.must(false, "B", 0, 1)
	w.cost("B", 0, 3)
}

func TestPeekChargesNothing(t *testing.T) {
	w := newWorld(t, 3, 10)
	var v limit.Verdict
	for range 2 {
		if err := w.caller("A").Peek(context.Background(), epoch, w.charge(3), &v); err != nil || !v.Allowed || v.Remaining != 3 {
			t.Fatalf("got %+v, error %v", v, err)
		}
	}
	w.cost("A", 2, 0)
	if len(w.item()) != 0 {
		t.Errorf("asking made an item: %v", w.item())
	}
}
