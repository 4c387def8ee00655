package lease

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

var (
	start  = time.Unix(1_700_000_000, 0)
	tenths = limit.Limit{Capacity: 100, Window: time.Second, Granularity: 100 * time.Millisecond}
	long   = limit.Limit{Capacity: 100, Window: time.Hour, Granularity: time.Minute}
	tokens = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Second, Burst: 9}
)

// TestCount moves an account that is in period 10 on to another, and counts
// what it has admitted before and now.
func TestCount(t *testing.T) {
	for n, want := range map[int64][3]int64{10: {10, 4, 7}, 11: {11, 0, 4}, 12: {12, 0, 0}, 9: {10, 4, 7}, 8: {8, 0, 0}} {
		a := account{current: 10, now: 4, before: 7}
		if a.count(time.Unix(n, 0), &limit.Charge{Limits: []limit.Limit{long}}); [3]int64{a.current, a.now, a.before} != want {
			t.Errorf("in period %d: %d admitted %d, %d before; want %d", n, a.current, a.now, a.before, want)
		}
	}
	a := account{}
	rest := a.count(start.Add(130*time.Millisecond), &limit.Charge{Limits: []limit.Limit{tokens, tenths, long}})
	if want := start.UnixNano()/1e8 + 1; a.current != want || math.Abs(rest-0.7) > 1e-6 {
		t.Errorf("the slots of a tenth have period %d with %v left, want %d with 0.7", a.current, rest, want)
	}
}

// TestLeasable: only charges that end with a slot are made ahead.
func TestLeasable(t *testing.T) {
	for name, test := range map[string]struct {
		limits []limit.Limit
		costs  []int64
		want   bool
	}{
		"a window":                   {[]limit.Limit{tenths}, []int64{1}, true},
		"all of it":                  {[]limit.Limit{tenths}, []int64{100}, true},
		"more than all of it":        {[]limit.Limit{tenths}, []int64{101}, false},
		"nothing":                    {[]limit.Limit{tenths}, []int64{0}, false},
		"a bucket":                   {[]limit.Limit{tokens}, []int64{1}, false},
		"beside a bucket":            {[]limit.Limit{tenths, tokens}, []int64{1, 1}, false},
		"beside an untouched bucket": {[]limit.Limit{tenths, tokens}, []int64{1, 0}, true},
	} {
		if got := leasable(&limit.Charge{Limits: test.limits, Costs: test.costs}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestArrived has two answers to charges of three requests arrive. The units of
// the first stay if the second took from the same slots.
func TestArrived(t *testing.T) {
	c := &limit.Charge{Limits: []limit.Limit{long, tenths, tenths}, Costs: []int64{2, 0, 1}}
	slot := start.UnixNano() / 1e8
	receipt := limit.Receipt{Generation: "a", Serial: 1, Slots: [limit.MaxLimits]int64{start.Unix() / 60, slot - 5, slot}}
	with := func(change func(*limit.Receipt)) limit.Receipt {
		changed := receipt
		change(&changed)
		return changed
	}
	for name, test := range map[string]struct {
		second limit.Receipt
		left   int64
	}{
		"the same slots":     {receipt, 8},
		"another generation": {with(func(r *limit.Receipt) { r.Generation = "b" }), 4},
		"another counter":    {with(func(r *limit.Receipt) { r.Serial++ }), 4},
		"another slot":       {with(func(r *limit.Receipt) { r.Slots[2]-- }), 4},
	} {
		a := account{flying: true}
		answer := limit.Verdict{Receipt: receipt, Limits: []limit.Result{{Remaining: 90, Reset: time.Second}, {Remaining: 1}, {Remaining: 70}}}
		a.arrived(start, c, &answer, 2, true)
		if end := start.UnixNano() + 1e8; a.end != end || a.room != 45 || a.now != 1 || a.flying {
			t.Errorf("%s: the lease ends at %d, want %d; room %d, want 45; %d admitted", name, a.end, end, a.room, a.now)
		}
		answer = limit.Verdict{Receipt: test.second, Limits: answer.Limits}
		a.arrived(start, c, &answer, 2, true)
		if a.left[0] != test.left {
			t.Errorf("%s: %d units are left, want %d", name, a.left[0], test.left)
		}
		if a.state(start.Add(time.Hour), &answer); answer.Limits[0].Reset != 0 {
			t.Errorf("%s: a counter that has ended is reset in %v", name, answer.Limits[0].Reset)
		}
		if a.arrived(start, c, &answer, 2, false); a.room != 0 {
			t.Errorf("%s: room for %d after a charge that was not made", name, a.room)
		}
	}
}

// TestChargeOnce makes one charge that fails: alone, and ahead. A process that
// does not know what became of a charge makes no other, and reports the error.
func TestChargeOnce(t *testing.T) {
	failure, calls := errors.New("connection reset"), 0
	charge := func(context.Context, time.Time, *limit.Charge, *limit.Verdict) error { calls++; return failure }
	for name, c := range map[string]*limit.Charge{
		"nothing": {Key: "nothing", Limits: []limit.Limit{long}, Costs: []int64{0}},
		"alone":   {Key: "alone", Limits: []limit.Limit{long}, Costs: []int64{1}},
		"ahead":   {Key: "ahead", Limits: []limit.Limit{long}, Costs: []int64{1}, Lease: 8},
	} {
		ls := New()
		a, _ := ls.accounts.ComputeIfAbsent("ahead", func() (*account, bool) { return &account{}, false })
		a.current, a.now, a.room = start.Unix(), 50, 50
		calls = 0
		if err := ls.Charge(t.Context(), start, c, &limit.Verdict{}, charge); !errors.Is(err, failure) || calls != 1 {
			t.Errorf("%s: %d calls, error %v", name, calls, err)
		}
	}
}

// TestDenialGivesNoLease: a denied charge, alone or ahead, is no admission and
// leaves no units.
func TestDenialGivesNoLease(t *testing.T) {
	ls, store := New(), memory.New(0)
	c := &limit.Charge{Key: "k", Limits: []limit.Limit{long}, Costs: []int64{100}, Lease: 8}
	if err := store.Charge(t.Context(), start, c, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	c.Costs = []int64{1}
	a, _ := ls.accounts.ComputeIfAbsent("k", func() (*account, bool) { return &account{}, false })
	a.current, a.now, a.room = start.Unix(), 50, 50
	var v limit.Verdict
	if err := ls.Charge(t.Context(), start, c, &v, store.Charge); err != nil || v.Allowed {
		t.Fatalf("%+v, error %v", v.Result, err)
	}
	if a.now != 50 || a.room != 0 || ls.Covers(start, c) {
		t.Errorf("%d admitted, want 50; room %d; left %d", a.now, a.room, a.left[0])
	}
	a.left[0], a.end = 9, math.MaxInt64
	if c.Costs[0] = 0; ls.Covers(start, c) {
		t.Error("a lease covers a charge of nothing")
	}
}
