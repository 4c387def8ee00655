package protocol

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// twoSlots returns a snapshot of a window with 2 units in slot 69 and 3 in
// slot 70, and of a bucket.
func twoSlots() *Snapshot {
	window := limit.State{Slots: limit.NewSlots([]limit.Slot{{Number: 69, Units: 2}, {Number: 70, Units: 3}})}
	return &Snapshot{Generation: "generation", totals: []int64{5, 70e9}, states: []limit.State{window, limit.NewBucket(70e9)}}
}

// TestShows looks in a snapshot for what charges took.
func TestShows(t *testing.T) {
	c := &limit.Charge{Limits: []limit.Limit{windows(1)[0], tokens}}
	receipt := func(slot int64) limit.Receipt {
		return limit.Receipt{Generation: "generation", Slots: [limit.MaxLimits]int64{slot}}
	}
	for name, test := range map[string]struct {
		snapshot *Snapshot
		receipt  limit.Receipt
		costs    []int64
		want     bool
	}{
		"the newest slot":      {twoSlots(), receipt(70), []int64{3, 1}, true},
		"an older slot":        {twoSlots(), receipt(69), []int64{2, 1}, true},
		"too little in it":     {twoSlots(), receipt(69), []int64{3, 1}, false},
		"a slot it lacks":      {twoSlots(), receipt(68), []int64{1, 1}, false},
		"zero cost":            {twoSlots(), receipt(68), []int64{0, 1}, true},
		"no snapshot":          {nil, receipt(70), []int64{3, 1}, false},
		"no charge":            {nil, limit.Receipt{}, []int64{0, 0}, true},
		"another generation's": {&Snapshot{Generation: "next", totals: twoSlots().totals, states: twoSlots().states}, receipt(70), []int64{3, 1}, false},
	} {
		c.Costs = test.costs
		if got := test.snapshot.Shows(c, &test.receipt); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// TestSettlementOfAnotherGeneration: a snapshot of another generation does not
// show what can be refunded, so the write is made and its condition decides.
func TestSettlementOfAnotherGeneration(t *testing.T) {
	c := &limit.Charge{Limits: windows(1), Costs: []int64{1}}
	r := &limit.Receipt{Generation: "next", Slots: [limit.MaxLimits]int64{71}}
	now := time.Unix(71, 0)
	if PlanSettlement(twoSlots(), c, r, []int64{-1}, now, now, "") == nil {
		t.Error("there is nothing to refund")
	}
}

// TestBefore1970: a limit that was never charged has no time, which is not that
// of 1970.
func TestBefore1970(t *testing.T) {
	now := time.Unix(-1e9, 0)
	if planBucket(nil, 0, &tokens, now, 1).draining {
		t.Error("a bucket that was never charged drains")
	}
	c := &limit.Charge{Limits: windows(1), Costs: []int64{1}}
	if newSnapshot("generation", c.Limits, now).FarAhead(c, now) || (*Snapshot)(nil).FarAhead(c, now) {
		t.Error("a counter that was never charged is far ahead")
	}
}
