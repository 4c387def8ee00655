package dynamo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

func TestTTL(t *testing.T) {
	w := newWorld(t, 3, 10)
	ttl := func() int64 { w.t.Helper(); return dynamomodel.Units(w.item()["ttl"]) - epoch.Unix() }
	w.must(true, "A", 0, 1)
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s after the epoch, want the end of slot 10 and an hour", got)
	}
	w.must(true, "A", 5, 1) // the wall still stands at the epoch: 11 s to the end of slot 15
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s, want 11 s and an hour from the wall clock", got)
	}
	w.must(true, "A", 2, 1) // charged in slot 5, whose window ends 14 s from slot 2
	if got := ttl(); got != 14+3600 {
		t.Errorf("ttl is %d s, want 14 s and an hour: computed from the slot charged, not from the clock", got)
	}
	if err := w.settle("A", w.last["A"], 7, 1); err != nil {
		t.Fatal(err)
	}
	if got, h := ttl(), dynamomodel.Units(w.item()["aH"]); got != 11+3600 || h != w.time(7).Unix() {
		t.Errorf("ttl is %d s, newest slot %d: an extra charge must set both", got, h)
	}
	if err := w.settle("A", w.last["A"], 5, -1); err != nil {
		t.Fatal(err)
	}
	if got := ttl(); got != 11+3600 {
		t.Errorf("ttl is %d s, want 11 s and an hour as before: a refund does not change it", got)
	}
}

func TestTTLCoversLimitsOfZeroCost(t *testing.T) {
	w := newWorld(t, 3, 10)
	c := w.charge(1)
	c.Limits = append(c.Limits, limit.Limit{Name: "b", Capacity: 5, Window: time.Hour, Granularity: time.Minute})
	c.Costs = []int64{1, 0}
	if err := w.caller("A").Charge(context.Background(), epoch, c, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	if got := dynamomodel.Units(w.item()["ttl"]) - epoch.Unix(); got != 3660+3600 {
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
			t.Errorf("slot %d has %d units, want %d: the window is 2 … 6", slot, got, want)
		}
	}
	if got := dynamomodel.Units(w.item()["aC"]); got != 6 {
		t.Errorf("total %d, want 6: it never falls", got)
	}
}

// removed returns how many slots a caller's last write removes by name.
func (w *world) removed(name string) int {
	sent := w.wires[name].sent
	_, removals, _ := strings.Cut(*sent[len(sent)-1].UpdateExpression, "REMOVE ")
	return len(strings.FieldsFunc(removals, func(r rune) bool { return r == ',' }))
}

// TestRemovalsAreBounded lets the slots of two limits expire, then charges with
// a snapshot. One write removes 200 of them, and the next the rest.
func TestRemovalsAreBounded(t *testing.T) {
	w := newWorld(t, 100_000, 300)
	both := w.charge(1)
	both.Limits, both.Costs = append(both.Limits, both.Limits[0]), []int64{1, 1}
	for _, step := range []struct {
		from, to int64 // slots to charge
		removed  int   // by the last of them
	}{
		{0, 110, 0}, // 110 slots of each limit
		{1000, 1001, 200},
		{1001, 1002, 20},
		{1002, 1003, 0},
	} {
		for slot := step.from; slot < step.to; slot++ {
			var v limit.Verdict
			if err := w.caller("A").Charge(context.Background(), w.time(slot), both, &v); err != nil || !v.Allowed {
				t.Fatalf("slot %d: %+v, error %v", slot, v, err)
			}
		}
		if got := w.removed("A"); got != step.removed {
			t.Errorf("slot %d: %d removed, want %d", step.to-1, got, step.removed)
		}
	}
	if n := len(w.item()); n != 3+2*(4+3) {
		t.Errorf("%d attributes left: want each limit's own and three slots of each", n)
	}
}
