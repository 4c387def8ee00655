package protocol

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

func n(i int64) types.AttributeValue  { return number(i) }
func s(x string) types.AttributeValue { return &types.AttributeValueMemberS{Value: x} }

type item = map[string]types.AttributeValue

// good returns a counter of one limit with two slots, one of them emptied by
// refunds.
func good() item {
	return item{"k": s("key"), "e": s("generation"), "ttl": n(1), "aC": n(9), "aH": n(70), "aF": n(-3), "aN": n(5), "a1y": n(4), "a1x": n(0)}
}

// windows returns n sliding windows of two slots of a second.
func windows(n int) []limit.Limit {
	return slices.Repeat([]limit.Limit{{Capacity: 5, Window: 2 * time.Second, Granularity: time.Second}}, n)
}

// TestForeignItems reads items that this package never writes. An item is
// refused if a ceiling computed from it could admit too much. Otherwise unknown
// attributes are ignored.
func TestForeignItems(t *testing.T) {
	with := func(changes item) item {
		all := good()
		maps.Copy(all, changes)
		maps.DeleteFunc(all, func(_ string, v types.AttributeValue) bool { return v == nil })
		return all
	}
	for name, test := range map[string]struct {
		item item
		ok   bool
	}{
		"as written":                     {good(), true},
		"attributes of another program":  {with(item{"note": s("x"), "": n(1), "zz": n(2), "A": n(3), "a": n(1)}), true},
		"a name in letters, not a slot":  {with(item{"aNote": s("x"), "a+1": s("x"), "a01": s("x")}), true},
		"another limit's":                {with(item{"bC": n(1)}), true},
		"before the first prefix":        {with(item{"`1": s("x")}), true},
		"a slot of one digit":            {item{"e": s("generation"), "aC": n(1), "aH": n(7), "a7": n(1)}, true},
		"a total as large as it gets":    {with(item{"aC": n(1<<63 - 1)}), true},
		"no generation":                  {with(item{"e": nil}), false},
		"an empty generation":            {with(item{"e": s("")}), false},
		"a generation that is a number":  {with(item{"e": n(1)}), false},
		"no total":                       {with(item{"aC": nil}), false},
		"no newest slot":                 {with(item{"aH": nil}), false},
		"a total that is not read":       {item{"e": s("generation"), "aC": s("9"), "aH": n(7), "a7": n(0)}, false},
		"a newest slot that is not read": {item{"e": s("generation"), "aC": n(1), "aH": s("0"), "a0": n(1)}, false},
		"a total beyond 64 bits":         {with(item{"aC": &types.AttributeValueMemberN{Value: "1e30"}}), false},
		"a slot in text":                 {with(item{"a1y": s("4")}), false},
		"a negative slot":                {with(item{"a1x": n(-1)}), false},
		"more in the slots than charged": {with(item{"aC": n(3)}), false},
		"slots that overflow":            {with(item{"a1x": n(1<<63 - 1), "aC": n(1<<63 - 1)}), false},
		"more in the slots together":     {with(item{"a1x": n(2), "aC": n(5)}), false},
		"a slot after the newest":        {with(item{"a20": n(1)}), false},
		"a slot after all time":          {with(item{slotName("a", 1<<62): n(1)}), false},
		"a slot before all time":         {with(item{slotName("a", -1<<63): n(0)}), false},
		"a newest slot with no counter":  {with(item{"aH": n(71)}), false},
		"a slot in text alone":           {item{"e": s("generation"), "a1y": s("4")}, false},
		"slots alone":                    {item{"e": s("generation"), "a1y": n(1)}, false},
		"a newest slot alone":            {item{"e": s("generation"), "aH": n(70)}, false},
		"a total alone":                  {item{"e": s("generation"), "aC": n(9)}, false},
		"no slots":                       {item{"e": s("generation"), "aC": n(9), "aH": n(70)}, false},
		"nothing but a generation":       {item{"e": s("generation")}, true},
	} {
		_, err := Read(test.item, windows(1), time.Time{})
		if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrForeign) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestForeignLimits reads invalid attributes of buckets and logs, and slots
// that are no times.
func TestForeignLimits(t *testing.T) {
	b := func(x ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: x} }
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 5, Window: time.Second, Burst: 5}
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 5, Window: time.Second, Granularity: limit.Exact}
	month := limit.Calendar{Unit: limit.Month, Location: time.UTC}
	monthly := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 5, Window: month.Nominal(), Granularity: month.Nominal(), Calendar: &month}
	one := func(slot int64) item { return item{"aC": n(1), "aH": n(slot), slotName("a", slot): n(1)} }
	for name, test := range map[string]struct {
		limit limit.Limit
		item  item
		ok    bool
	}{
		"a bucket":                      {bucket, item{"aT": n(1_700_000_040_000_000_000)}, true},
		"a bucket as late as it gets":   {bucket, item{"aT": n(1 << 62)}, true},
		"a bucket as early as it gets":  {bucket, item{"aT": n(-1 << 62)}, true},
		"a bucket too late":             {bucket, item{"aT": n(1<<62 + 1)}, false},
		"a bucket too early":            {bucket, item{"aT": n(-1<<62 - 1)}, false},
		"a bucket in text":              {bucket, item{"aT": s("1")}, false},
		"a bucket never charged":        {bucket, item{}, true},
		"a bucket beside foreign slots": {bucket, item{"aT": n(1), "a10": s("x")}, true},
		"a log":                         {log, item{"aC": n(4), "aL": b(2, 1, 2, 3)}, true},
		"a log from before 1970":        {log, item{"aC": n(1), "aL": b(9, 1)}, true},
		"a log never charged":           {log, item{}, true},
		"a log without a total":         {log, item{"aL": b(2, 1)}, false},
		"a log that is not there":       {log, item{"aC": n(1)}, false},
		"a log of nothing":              {log, item{"aC": n(1), "aL": b()}, false},
		"a log in text":                 {log, item{"aC": n(1), "aL": s("x")}, false},
		"a log in text alone":           {log, item{"aL": s("x")}, false},
		"a log cut off":                 {log, item{"aC": n(1), "aL": b(2)}, false},
		"a log cut off in a number":     {log, item{"aC": n(1), "aL": b(0x80)}, false},
		"a stamp of no units":           {log, item{"aC": n(1), "aL": b(2, 0)}, false},
		"a stamp of 1000 units":         {log, item{"aC": n(1000), "aL": b(2, 0xe8, 7)}, true},
		"a stamp of 1001 units":         {log, item{"aC": n(1001), "aL": b(2, 0xe9, 7)}, false},
		"two stamps at once":            {log, item{"aC": n(2), "aL": b(2, 1, 0, 1)}, false},
		"stamps that go back":           {log, item{"aC": n(2), "aL": b(2, 1, 1, 1)}, false},
		"more in the log than charged":  {log, item{"aC": n(3), "aL": b(2, 1, 2, 3)}, false},
		"a stamp beside foreign slots":  {log, item{"aC": n(1), "aL": b(2, 1), "a10": s("x")}, true},
		"slots beside a foreign log":    {windows(1)[0], item{"aC": n(1), "aH": n(70), "a1y": n(1), "aL": s("x")}, true},
		"a slot as late as it gets":     {windows(1)[0], one(1 << 62 / 1_000_000_000), true},
		"a slot too late":               {windows(1)[0], one(1<<62/1_000_000_000 + 1), false},
		"a slot as early as it gets":    {windows(1)[0], one(-(1 << 62 / 1_000_000_000)), true},
		"a slot too early":              {windows(1)[0], one(-(1 << 62 / 1_000_000_000) - 1), false},
		"a month":                       {monthly, one(682), true},
		"a month of another age":        {monthly, one(5000), false},
		"a month before the ages":       {monthly, one(-5000), false},
	} {
		test.item["e"] = s("generation")
		_, err := Read(test.item, []limit.Limit{test.limit}, time.Time{})
		if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrForeign) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzRead reads items of any shape: the result is an error or a consistent
// snapshot, never a panic.
func FuzzRead(f *testing.F) {
	f.Add("aC", "9", "aH", "70", "a1y", "4", true)
	f.Add("aC", "-9", "bH", "x", "a-1", "9223372036854775807", false)
	f.Add("", "", "a", "1", "aZ", "1e99", true)
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, n3, v3 string, numbers bool) {
		all := item{"e": s("generation")}
		for name, value := range map[string]string{n1: v1, n2: v2, n3: v3} {
			if all[name] = s(value); numbers {
				all[name] = &types.AttributeValueMemberN{Value: value}
			}
		}
		snapshot, err := Read(all, windows(2), time.Time{})
		if err != nil {
			return
		}
		for i := range snapshot.states {
			var sum int64
			for slot := range snapshot.states[i].All() {
				if sum += slot.Units; slot.Units < 0 || all[slotName(prefixOf(i), slot.Number)] == nil {
					t.Fatalf("slot %+v of %v", slot, all)
				}
			}
			if sum > snapshot.totals[i] {
				t.Fatalf("the slots have %d of %d units: %v", sum, snapshot.totals[i], all)
			}
		}
	})
}

func TestSlotNames(t *testing.T) {
	if u := newUpdate(); u.name("a-1") == u.name("a1") {
		t.Error("slots on both sides of 1970 have one placeholder")
	}
	for slot, want := range map[int64]string{0: "a0", 35: "az", 36: "a10", 1_700_000_040: "as" + strconv.FormatInt(1_700_000_040, 36)[1:], -1: "a-1"} {
		if got := slotName("a", slot); got != want {
			t.Errorf("slot %d is %q, want %q", slot, got, want)
		}
	}
}
