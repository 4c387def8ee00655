package protocol

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestExpiry checks that an item expires an hour after the last of its limits
// has left its window, by the wall clock.
func TestExpiry(t *testing.T) {
	now := time.Unix(1_700_000_040, 0)
	seconds := limit.Limit{Capacity: 9, Window: 10 * time.Second, Granularity: time.Second}
	minute := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Minute, Granularity: time.Minute}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1, Window: time.Second, Burst: 20}
	snapshot := func(states ...limit.State) *Snapshot {
		return &Snapshot{states: states, totals: make([]int64, len(states))}
	}
	newest := limit.State{Slots: limit.NewSlots([]limit.Slot{{Number: now.Unix() + 5, Units: 1}})}
	for name, test := range map[string]struct {
		limits   []limit.Limit
		snapshot *Snapshot
		wall     time.Duration // the wall clock, from now
		want     int64         // seconds from now, without the hour
	}{
		"ten seconds and a slot":           {[]limit.Limit{seconds}, nil, 0, 11},
		"a wall clock of its own":          {[]limit.Limit{seconds}, nil, -time.Hour, 11 - 3600},
		"a nanosecond more is a second":    {[]limit.Limit{seconds}, nil, 1, 12},
		"the newest slot, not the clock's": {[]limit.Limit{seconds}, snapshot(newest), 0, 16},
		"the rest of a minute":             {[]limit.Limit{minute}, nil, 0, 60},
		"the longest limit, first":         {[]limit.Limit{minute, seconds}, nil, 0, 60},
		"the longest limit, last":          {[]limit.Limit{seconds, minute}, nil, 0, 60},
		"a bucket that drains":             {[]limit.Limit{bucket}, nil, 0, 20},
		"a bucket that another clock filled": {
			[]limit.Limit{bucket}, snapshot(limit.NewBucket(now.Add(25 * time.Second).UnixNano())), 0, 25,
		},
		"a bucket beside a longer limit":  {[]limit.Limit{bucket, minute}, nil, 0, 60},
		"a bucket beside a shorter limit": {[]limit.Limit{seconds, bucket}, snapshot(newest, limit.State{}), 0, 20},
	} {
		c := &limit.Charge{Limits: test.limits, Costs: make([]int64, len(test.limits))}
		if got := PlanCharge(test.snapshot, c, now, now.Add(test.wall), true).ttl - now.Unix() - 3600; got != test.want {
			t.Errorf("%s: %d s and an hour, want %d s", name, got, test.want)
		}
	}
}

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
