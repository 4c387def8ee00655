package dynamo

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestViewsKeepTheLatest has answers overtake each other: of one life the cache keeps the latest state, of two the one that
// came last.
func TestViewsKeepTheLatest(t *testing.T) {
	before := &view{life: "life", totals: []int64{4, 4}}
	for name, test := range map[string]struct {
		then *view
		kept bool // the view that came then
	}{
		"the same":                           {&view{life: "life", totals: []int64{4, 4}}, true},
		"more of one":                        {&view{life: "life", totals: []int64{4, 5}}, true},
		"less of the first":                  {&view{life: "life", totals: []int64{3, 4}}, false},
		"less of the second":                 {&view{life: "life", totals: []int64{4, 3}}, false},
		"less, in another life":              {&view{life: "next", totals: []int64{1, 1}}, true},
		"less, of another number of limits":  {&view{life: "life", totals: []int64{1}}, true},
		"never charged, but in another life": {newView("next", windows(2), time.Time{}), true},
	} {
		cache := newViewCache(0)
		cache.put("k", before)
		cache.put("k", test.then)
		if got, _ := cache.views.GetIfPresent("k"); (got == test.then) != test.kept {
			t.Errorf("%s: kept %+v", name, got)
		}
	}
}

// TestViewsOfBuckets: a bucket never charged is an earlier state than any charge, also one before 1970.
func TestViewsOfBuckets(t *testing.T) {
	bucket := []limit.Limit{{Algorithm: limit.TokenBucket, Capacity: 1, Window: time.Second, Burst: 1}}
	never := newView("life", bucket, time.Time{})
	charged := &view{life: "life", totals: []int64{-5}}
	if never.supersedes(charged) || !charged.supersedes(never) {
		t.Error("a charged bucket is earlier than the same one never charged")
	}
}

// TestViewsFitTheCharge: a view of another number of limits is none.
func TestViewsFitTheCharge(t *testing.T) {
	cache := newViewCache(0)
	cache.put("k", newView("life", windows(2), time.Time{}))
	for limits, want := range map[int]bool{1: false, 2: true, 3: false} {
		if got := cache.get(&limit.Charge{Key: "k", Limits: windows(limits)}); (got != nil) != want {
			t.Errorf("%d limits: %+v", limits, got)
		}
	}
	if got := cache.get(&limit.Charge{Key: "another", Limits: windows(2)}); got != nil {
		t.Errorf("another key: %+v", got)
	}
}

func TestViewsAreBounded(t *testing.T) {
	for size, want := range map[int]uint64{-1: 10_000, 0: 10_000, 1: 1, 20_000: 20_000} {
		if got := newViewCache(size).views.GetMaximum(); got != want {
			t.Errorf("asked for %d views: at most %d, want %d", size, got, want)
		}
	}
}

// TestRandomLife: 96 bits, in six bits a character.
func TestRandomLife(t *testing.T) {
	a, b := randomLife(), randomLife()
	if len(a) != 16 || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}
