package dynamo

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// windows returns n sliding windows of two slots of a second.
func windows(n int) []limit.Limit {
	return slices.Repeat([]limit.Limit{{Capacity: 5, Window: 2 * time.Second, Granularity: time.Second}}, n)
}

// snapshotOf reads the snapshot of an item with these numbers and limits.
func snapshotOf(t *testing.T, generation string, limits []limit.Limit, numbers map[string]int64, readAt time.Time) *protocol.Snapshot {
	t.Helper()
	item := protocol.Item{"e": &types.AttributeValueMemberS{Value: generation}}
	for name, n := range numbers {
		item[name] = &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
	}
	snapshot, err := protocol.Read(item, limits, readAt)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// charged returns the snapshot of windows with these totals, all in slot 70.
func charged(t *testing.T, generation string, totals ...int64) *protocol.Snapshot {
	t.Helper()
	numbers := map[string]int64{}
	for i, total := range totals {
		prefix := string(rune('a' + i))
		numbers[prefix+"C"], numbers[prefix+"H"], numbers[prefix+"1y"] = total, 70, total
	}
	return snapshotOf(t, generation, windows(len(totals)), numbers, time.Time{})
}

// TestSnapshotsKeepTheLatest has answers overtake each other. The cache keeps
// the latest state of one generation, and of two generations the last one put.
func TestSnapshotsKeepTheLatest(t *testing.T) {
	before := charged(t, "generation", 4, 4)
	for name, test := range map[string]struct {
		then *protocol.Snapshot
		kept bool // whether the later snapshot is kept
	}{
		"the same":                              {charged(t, "generation", 4, 4), true},
		"less of the first":                     {charged(t, "generation", 3, 4), false},
		"less, in another generation":           {charged(t, "next", 1, 1), true},
		"never charged, but another generation": {snapshotOf(t, "next", windows(2), nil, time.Time{}), true},
	} {
		cache := newSnapshotCache(0)
		cache.put("k", before)
		cache.put("k", test.then)
		if got, _ := cache.cache.Get("k"); (got == test.then) != test.kept {
			t.Errorf("%s: kept %+v", name, got)
		}
	}
}

// TestSnapshotsFitTheCharge checks that a snapshot of another number of limits
// is not used.
func TestSnapshotsFitTheCharge(t *testing.T) {
	cache := newSnapshotCache(0)
	cache.put("k", snapshotOf(t, "generation", windows(2), nil, time.Time{}))
	for limits, want := range map[int]bool{1: false, 2: true, 3: false} {
		if got := cache.get(&limit.Charge{Key: "k", Limits: windows(limits)}); (got != nil) != want {
			t.Errorf("%d limits: %+v", limits, got)
		}
	}
	if got := cache.get(&limit.Charge{Key: "another", Limits: windows(2)}); got != nil {
		t.Errorf("another key: %+v", got)
	}
}

func TestSnapshotsAreBounded(t *testing.T) {
	snapshot := snapshotOf(t, "generation", windows(1), nil, time.Time{})
	for size, want := range map[int]int{-1: 10_000, 0: 10_000, 1: 1, 2_000: 2_000} {
		cache := newSnapshotCache(size)
		for i := range want + 100 {
			cache.put(strconv.Itoa(i), snapshot)
		}
		if got := cache.cache.Len(); got != want {
			t.Errorf("size %d: %d snapshots, want %d", size, got, want)
		}
	}
}

// TestRandomGeneration wants 96 bits, at six bits a character.
func TestRandomGeneration(t *testing.T) {
	a, b := randomGeneration(), randomGeneration()
	if len(a) != 16 || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}
