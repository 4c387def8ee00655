package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// chargeCold charges the key in as many slots from 0, each time by a caller
// without a snapshot, which cannot name the expired slots.
func (w *world) chargeCold(slots int64) {
	w.t.Helper()
	for slot := range slots {
		w.must(true, fmt.Sprint("cold-", slot), slot, 1)
	}
}

// chargeOther has a caller charge another key, which sends the pruning that is
// due.
func (w *world) chargeOther(name string, slot int64) {
	w.t.Helper()
	other := w.charge(1)
	other.Key = "rule|user:2|00000000"
	if err := w.caller(name).Charge(context.Background(), w.time(slot), other, &limit.Verdict{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestPruningStaysDue checks that a charge with a snapshot does not drop the
// pruning of another key, noted during the charge.
func TestPruningStaysDue(t *testing.T) {
	w := newWorld(t, 1000, 10)
	w.chargeCold(8)
	var during func() // the next write
	m := &dynamotest.Double{API: w.engine}
	m.Update = func(
		_ context.Context, _ *dynamodb.UpdateItemInput, send dynamotest.Send[dynamodb.UpdateItemOutput],
	) (*dynamodb.UpdateItemOutput, error) {
		if do := during; do != nil {
			during = nil
			do()
		}
		return send()
	}
	store := dynamo.New(m, w.table, dynamo.Options{Wall: func() time.Time { return epoch }})
	charge := func(key string) {
		c := w.charge(1)
		c.Key = key
		if err := store.Charge(context.Background(), w.time(40), c, &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	charge("other")
	during = func() { charge(key) }
	charge("other")
	if w.slot(0) != 1 {
		t.Fatal("slot 0 was removed too early")
	}
	charge("other")
	if w.slot(0) != 0 || w.slot(40) != 1 {
		t.Errorf("not pruned: %v", w.item())
	}
}

// TestPruningIsBounded prunes 110 expired slots of each of two limits.
func TestPruningIsBounded(t *testing.T) {
	w := newWorld(t, 1000, 120)
	both := w.charge(1)
	both.Limits, both.Costs = append(both.Limits, both.Limits[0]), []int64{1, 1}
	charge := func(name string, slot int64) {
		if err := w.caller(name).Charge(context.Background(), w.time(slot), both, &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	for slot := range int64(110) {
		charge(fmt.Sprint("cold-", slot), slot)
	}
	charge("B", 1000)
	w.wires["B"].mutation = func(u *types.Update) {
		if n := strings.Count(*u.UpdateExpression, "#"); u.ExpressionAttributeNames["#aC"] == "" && n != 200 {
			t.Errorf("%d slots removed at once, want 200", n)
		}
	}
	w.chargeOther("B", 1000)
	if n := len(w.item()); n != 3+2*(4+1)+20 {
		t.Errorf("%d attributes left, want 20 expired slots", n)
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
