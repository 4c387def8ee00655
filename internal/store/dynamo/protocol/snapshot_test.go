package protocol

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestNewerThan compares snapshots by their totals, which only grow within a
// generation.
func TestNewerThan(t *testing.T) {
	old := &Snapshot{Generation: "generation", totals: []int64{4, 4}}
	for name, test := range map[string]struct {
		then *Snapshot
		want bool // old is newer
	}{
		"the same":                          {&Snapshot{Generation: "generation", totals: []int64{4, 4}}, false},
		"more of one":                       {&Snapshot{Generation: "generation", totals: []int64{4, 5}}, false},
		"less of the first":                 {&Snapshot{Generation: "generation", totals: []int64{3, 4}}, true},
		"less of the second":                {&Snapshot{Generation: "generation", totals: []int64{4, 3}}, true},
		"less, in another generation":       {&Snapshot{Generation: "next", totals: []int64{1, 1}}, false},
		"less, of another number of limits": {&Snapshot{Generation: "generation", totals: []int64{1}}, false},
		"never charged, another generation": {newSnapshot("next", windows(2), time.Time{}), false},
	} {
		if got := old.NewerThan(test.then); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestNewerBucket checks that a bucket never charged is an earlier state than
// any charge, even before 1970.
func TestNewerBucket(t *testing.T) {
	bucket := []limit.Limit{{Algorithm: limit.TokenBucket, Capacity: 1, Window: time.Second, Burst: 1}}
	never := newSnapshot("generation", bucket, time.Time{})
	charged := &Snapshot{Generation: "generation", totals: []int64{-5}}
	if never.NewerThan(charged) || !charged.NewerThan(never) {
		t.Error("a charged bucket is not newer than one never charged")
	}
}

// TestRefundOfAllUnits refunds all that a slot holds.
func TestRefundOfAllUnits(t *testing.T) {
	w := newBatchWorld(t, slots)
	c := w.of(3)
	w.write(PlanCharge(nil, c, minute, minute, true))
	s, v := w.read(), limit.Verdict{}
	s.Admit(c, minute, &v)
	if !s.Shows(c, &v.Receipt) || PlanSettlement(s, c, &v.Receipt, []int64{-3}, minute, minute, "") == nil {
		t.Error("a snapshot with exactly these units does not show them")
	}
	if PlanSettlement(s, w.of(4), &v.Receipt, []int64{-4}, minute, minute, "") != nil {
		t.Error("more units than there are can be refunded")
	}
}
