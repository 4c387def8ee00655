package lease

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var (
	start  = time.Unix(1_700_000_000, 0)
	tenths = limit.Limit{Capacity: 100, Window: time.Second, Granularity: 100 * time.Millisecond}
	long   = limit.Limit{Capacity: 100, Window: time.Hour, Granularity: time.Minute}
	stamps = limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 9, Window: time.Second, Granularity: limit.Exact}
	tokens = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 9, Window: time.Second, Burst: 9}
)

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
		"a log":                      {[]limit.Limit{stamps}, []int64{1}, false},
		"a bucket":                   {[]limit.Limit{tokens}, []int64{1}, false},
		"beside a bucket":            {[]limit.Limit{tenths, tokens}, []int64{1, 1}, false},
		"beside an untouched bucket": {[]limit.Limit{tenths, tokens}, []int64{1, 0}, true},
	} {
		if got := leasable(&limit.Charge{Limits: test.limits, Costs: test.costs}); got != test.want {
			t.Errorf("%s: %t", name, got)
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
		a := ls.account("ahead")
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
	a := ls.account("k")
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
