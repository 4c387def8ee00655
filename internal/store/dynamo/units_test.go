package dynamo_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestUnitsOfHolds writes the bytes of items with holds, and what a write of them
// costs, into docs/performance.md: DynamoDB charges a unit for each KB of the item.
func TestUnitsOfHolds(t *testing.T) {
	second := limit.Limit{Name: "a", Capacity: 1e9, Window: time.Minute, Granularity: time.Second}
	day := limit.Limit{Name: "b", Capacity: 1e9, Window: 24 * time.Hour, Granularity: 24 * time.Minute}
	inFlight := limit.Limit{Algorithm: limit.InFlight, Capacity: limit.MaxHolds, Window: time.Hour}
	var text strings.Builder
	text.WriteString("| | 0 holds | 1 | 20 | 100 | 1,000 | bytes for each |\n|---|---|---|---|---|---|---|\n")
	for _, test := range []struct {
		name   string
		limits []limit.Limit
		costs  []int64
	}{
		{"places in flight", []limit.Limit{inFlight}, []int64{1}},
		{"reservations of a limit", []limit.Limit{second}, []int64{4000}},
		{"reservations of two limits", []limit.Limit{second, day}, []int64{4000, 1}},
	} {
		table := dynamomodel.New("counters", "k")
		store := dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }})
		charge := func(id uint64) {
			c := &limit.Charge{Key: key, Limits: test.limits, Costs: test.costs, Hold: limit.Opening{ID: id, For: time.Hour, Most: limit.MaxHolds}}
			var v limit.Verdict
			if err := store.Charge(t.Context(), epoch, c, &v); err != nil || v.Receipt.Hold != id {
				t.Fatalf("%s, hold %d: %+v, error %v", test.name, id, v, err)
			}
			if id == 1 {
				if err := store.Settle(t.Context(), epoch, c, &v.Receipt, make([]int64, len(test.costs))); err != nil {
					t.Fatal(err)
				}
			}
		}
		charge(1)
		sizes, units := "| "+test.name+", bytes of the item", "| write units"
		first, last, open := 0, 0, uint64(1)
		for _, holds := range []int{0, 1, 20, 100, limit.MaxHolds} {
			if holds == limit.MaxHolds {
				multiply(t, table, holds-1)
				open = uint64(holds)
			}
			for ; open <= uint64(holds); open++ {
				charge(open<<32 + 7)
			}
			last = dynamomodel.Size(table.Item(key))
			if holds == 0 {
				first = last
			}
			sizes += fmt.Sprintf(" | %d", last)
			units += fmt.Sprintf(" | %d", (last+1023)/1024)
		}
		fmt.Fprintf(&text, "%s | %.1f |\n%s | – |\n", sizes, float64(last-first)/limit.MaxHolds, units)
	}
	golden.CheckPart(t, "../../../docs/performance.md", "<!-- go test -run TestUnitsOfHolds ./internal/store/dynamo -update -->\n", "<!-- end of units -->\n", text.String())
}

// multiply gives the item as many holds, of the bytes of one that it has.
func multiply(t *testing.T, table *dynamomodel.Table, holds int) {
	t.Helper()
	item := table.Item(key)
	var one types.AttributeValue
	have := 0
	for name, value := range item {
		if name[0] == '@' {
			one = value
			have++
		}
	}
	for n := have; n < holds; n++ {
		id := binary.BigEndian.AppendUint64(nil, uint64(n)<<16+9)
		item["@"+base64.RawURLEncoding.EncodeToString(id)] = one
	}
	item["I"] = dynamomodel.Number(int64(holds))
	if err := table.Put(key, item); err != nil {
		t.Fatal(err)
	}
}
