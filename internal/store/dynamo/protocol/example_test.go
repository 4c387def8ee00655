package protocol

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// TestWorkedExample runs the example of docs/protocol.md: a limit of 10 units
// in 4 slots of a second, and two callers.
func TestWorkedExample(t *testing.T) {
	charge := &limit.Charge{
		Key:    "key",
		Limits: []limit.Limit{{Capacity: 10, Window: 4 * time.Second, Granularity: time.Second}},
		Costs:  []int64{2},
	}
	slot := func(n int64) string { return slotName("a", n) }
	item := Item{
		"k": s("key"), "e": s("generation"), "ttl": n(1), "aC": n(37), "aH": n(104), "aF": n(2), "aN": n(10),
		slot(100): n(2), slot(101): n(3), slot(103): n(1), slot(104): n(2),
	}
	table := dynamomodel.New("counters", AttributeKey)
	if err := table.Put("key", item); err != nil {
		t.Fatal(err)
	}
	now := func(slot int64) time.Time { return time.Unix(slot, 0) }
	read := func(item Item) *Snapshot {
		t.Helper()
		snapshot, err := Read(item, charge.Limits, now(104))
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	write := func(s *Snapshot, at int64) (written bool) {
		t.Helper()
		u := PlanCharge(s, charge, now(at), now(at), true).Update("another").Request("counters", "key")
		_, err := table.UpdateItem(context.Background(), dynamomodel.Alone(u))
		var failed *types.ConditionalCheckFailedException
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return err == nil
	}
	expect := func(want map[string]int64) {
		t.Helper()
		for name, units := range want {
			if got, _ := readNumber(name, table.Item("key")[name]); got != units {
				t.Errorf("%s is %d, want %d", name, got, units)
			}
		}
	}

	if !write(read(item), 104) { // A
		t.Error("A is refused")
	}
	expect(map[string]int64{"aC": 39, slot(104): 4, "aF": 0})

	old := Item{"k": s("key"), "e": s("generation"), "aC": n(34), "aH": n(101), slot(100): n(2), slot(101): n(3)}
	if write(read(old), 104) { // B
		t.Error("B charges by an old snapshot")
	}
	fresh := read(table.Item("key"))
	var v limit.Verdict
	if fresh.Decide(charge, now(104), &v); v.Allowed || v.RetryAfter != time.Second {
		t.Errorf("B at slot 104: %+v, want a denial until slot 105", v.Result)
	}
	if !write(fresh, 105) {
		t.Error("B is refused at slot 105")
	}
	expect(map[string]int64{"aC": 41, slot(105): 2})
	if table.Item("key")[slot(100)] != nil {
		t.Error("slot 100 is still there")
	}
}
