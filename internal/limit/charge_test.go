package limit_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

func TestCheck(t *testing.T) {
	good := sliding(3, 10*sec, sec)
	with := func(change func(*limit.Limit)) limit.Charge {
		l := good
		change(&l)
		return limit.Charge{Limits: []limit.Limit{l}, Costs: []int64{1}}
	}
	one := func(l limit.Limit) limit.Charge { return limit.Charge{Limits: []limit.Limit{l}, Costs: []int64{1}} }
	day := &limit.Calendar{Unit: limit.Day, Location: time.UTC}
	held := func(l limit.Limit, cost int64, hold limit.Opening) limit.Charge {
		return limit.Charge{Limits: []limit.Limit{l}, Costs: []int64{cost}, Hold: hold}
	}
	for name, c := range map[string]limit.Charge{
		"no limits":                       {},
		"a cost too few":                  {Limits: []limit.Limit{good}},
		"a cost too many":                 {Limits: []limit.Limit{good}, Costs: []int64{1, 1}},
		"nine limits":                     {Limits: slices.Repeat([]limit.Limit{good}, 9), Costs: make([]int64, 9)},
		"a negative cost":                 {Limits: []limit.Limit{good}, Costs: []int64{-1}},
		"no capacity":                     with(func(l *limit.Limit) { l.Capacity = 0 }),
		"too much capacity":               with(func(l *limit.Limit) { l.Capacity = limit.MaxCapacity + 1 }),
		"no window":                       with(func(l *limit.Limit) { l.Window = 0 }),
		"a window that overflows":         one(weighted(1, math.MaxInt64)),
		"slots without width":             with(func(l *limit.Limit) { l.Granularity = 0 }),
		"slots that do not fill a window": with(func(l *limit.Limit) { l.Granularity = 3 * sec }),
		"601 slots":                       one(sliding(1, 601*sec, sec)),
		"an unknown algorithm":            with(func(l *limit.Limit) { l.Algorithm = 7 }),
		"a fixed window in slots":         with(func(l *limit.Limit) { l.Algorithm = limit.FixedWindow }),
		"a counter in slots":              with(func(l *limit.Limit) { l.Algorithm = limit.SlidingWindowCounter }),
		"a log by the second":             with(func(l *limit.Limit) { l.Algorithm = limit.SlidingWindowLog }),
		"a log of 1001":                   one(exact(1001, sec)),
		"a bucket in slots":               with(func(l *limit.Limit) { l.Algorithm, l.Burst = limit.TokenBucket, 1 }),
		"a bucket that holds nothing":     one(token(1, sec, 0)),
		"a bucket that holds too much":    one(token(limit.MaxCapacity, sec, limit.MaxCapacity+1)),
		"a queue that drains too slowly":  one(leaky(1, limit.MaxDrain/2+1, 2)),
		"a bucket at half its rate":       one(token(999_999_999, sec, 1)),
		"more than one percent too slow":  one(token(100, 901, 1)), // 10 ns a unit
		"a bucket that overflows":         one(token(1, math.MaxInt64, limit.MaxCapacity)),
		"a calendar that slides":          with(func(l *limit.Limit) { *l = sliding(1, 24*time.Hour, time.Hour); l.Calendar = day }),
		"a calendar nowhere":              one(calendar(1, &limit.Calendar{Unit: limit.Day})),
		"a calendar of decades":           with(func(l *limit.Limit) { *l = calendar(1, day); l.Calendar = &limit.Calendar{Unit: 3, Location: time.UTC} }),
		"a month of a second": with(func(l *limit.Limit) {
			*l = fixed(1, sec)
			l.Calendar = &limit.Calendar{Unit: limit.Month, Location: time.UTC}
		}),
		"a bucket past 64 bits":            one(token(1, 1<<33, 1<<31)), // 2⁶⁴ ns to refill: none of it in the lower 64 bits
		"months that start on the 32nd":    one(calendar(1, &limit.Calendar{Unit: limit.Month, Location: time.UTC, Anchor: 32})),
		"months that start before the 1st": one(calendar(1, &limit.Calendar{Unit: limit.Month, Location: time.UTC, Anchor: -1})),
		"a place without a hold":           one(inFlight(1, sec)),
		"two places at once":               held(inFlight(9, sec), 2, limit.Opening{ID: 1}),
		"two limits of places":             {Limits: []limit.Limit{inFlight(9, sec), inFlight(9, sec)}, Costs: []int64{1, 0}, Hold: limit.Opening{ID: 1}},
		"1001 places":                      held(inFlight(limit.MaxHolds+1, sec), 1, limit.Opening{ID: 1}),
		"a place for less than a second":   held(inFlight(1, sec-1), 1, limit.Opening{ID: 1}),
		"a place for more than a day":      held(inFlight(1, limit.MaxHold+1), 1, limit.Opening{ID: 1}),
		"places in slots":                  with(func(l *limit.Limit) { l.Algorithm = limit.InFlight }),
		"a hold that ended before":         held(good, 1, limit.Opening{ID: 1, For: -1}),
		"a hold for more than a day":       held(good, 1, limit.Opening{ID: 1, For: limit.MaxHold + 1}),
		"at most -1 holds":                 held(good, 1, limit.Opening{ID: 1, Most: -1}),
		"at most 1001 holds":               held(good, 1, limit.Opening{ID: 1, Most: limit.MaxHolds + 1}),
		"weeks that start on the 2nd":      one(calendar(1, &limit.Calendar{Unit: limit.Week, Location: time.UTC, Anchor: 2})),
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := c.CheckSettlement(make([]int64, len(c.Limits))); err == nil {
			t.Errorf("%s: accepted for a settlement", name)
		}
	}
	for name, l := range map[string]limit.Limit{
		"600 slots": sliding(1, 600*sec, sec), "the largest capacity": fixed(limit.MaxCapacity, sec), "a log of 1000": exact(1000, sec),
		"a nanosecond": fixed(1, 1), "slots of a nanosecond": sliding(1, 10, 1),
		"ten years to refill": token(1, limit.MaxDrain/2, 2), "a nanosecond a unit": leaky(limit.MaxCapacity, limit.MaxCapacity, limit.MaxCapacity),
		"one percent too slow": token(100, 9901, 1), "any ten million a second": token(9_999_999, sec, 1),
		"the longest window":            weighted(1, limit.MaxWindow),
		"1000 places for a day":         inFlight(limit.MaxHolds, limit.MaxHold),
		"months that start on the 28th": calendar(1, &limit.Calendar{Unit: limit.Month, Location: time.UTC, Anchor: 28}),
	} {
		c := limit.Charge{Limits: []limit.Limit{l}, Costs: []int64{0}}
		if err := c.Check(); err != nil || !c.ZeroCost() {
			t.Errorf("%s, zero cost: error %v, ZeroCost %v", name, err, c.ZeroCost())
		}
	}
}

// TestMostUnits corrects charges until one window holds as many units as can be
// counted. It is full from then on, and counts on in the next.
func TestMostUnits(t *testing.T) {
	for _, l := range []limit.Limit{sliding(limit.MaxCapacity, 10*sec, sec), fixed(9, 10*sec), weighted(limit.MaxCapacity, 10*sec)} {
		states, c, r := make([]limit.State, 1), &limit.Charge{Limits: []limit.Limit{l}}, &limit.Receipt{}
		for n := range 10_000 {
			now := epoch.Add(min(time.Duration(n), 9) * sec)
			_ = limit.Settle(states, nil, c, now, r, []int64{limit.MaxCapacity})
			if states[0].Decide(&l, now, 1).Allowed {
				t.Fatalf("%s: allowed after %d corrections", l.Algorithm, n+1)
			}
		}
		if got := states[0].Decide(&l, epoch.Add(21*sec), l.Capacity); !got.Allowed {
			t.Errorf("%s: the next window is not empty: %+v", l.Algorithm, got)
		}
	}
}

func TestCheckSettlement(t *testing.T) {
	c := limit.Charge{
		Limits: []limit.Limit{sliding(3, 10*sec, sec), token(3, 10*sec, 3), exact(3, sec), leaky(3, sec, 3)},
		Costs:  []int64{2, 2, 2, 2},
	}
	for _, test := range []struct {
		deltas []int64
		ok     bool
	}{
		{[]int64{0, 0, 0, 0}, true},
		{[]int64{limit.MaxCapacity, 0, 0, 0}, true},
		{[]int64{-2, 0, 0, 0}, true},
		{[]int64{-3, 0, 0, 0}, false}, // more than the cost
		{[]int64{limit.MaxCapacity + 1, 0, 0, 0}, false},
		{[]int64{-limit.MaxCapacity - 1, 0, 0, 0}, false},
		{[]int64{math.MinInt64, 0, 0, 0}, false},
		{[]int64{0, 1, 0, 0}, false},
		{[]int64{0, 0, 0, -1}, false},
		{[]int64{0, 0, 0}, false},
		{nil, false},
	} {
		if err := c.CheckSettlement(test.deltas); (err == nil) != test.ok {
			t.Errorf("%d: error %v", test.deltas, err)
		}
	}
}

// TestTakeAfterDecide charges the slots of the decision's receipt. It checks the
// result of each limit and the combined result.
func TestTakeAfterDecide(t *testing.T) {
	c := &limit.Charge{Limits: []limit.Limit{sliding(5, 10*sec, sec), leaky(10, 10*sec, 3), fixed(9, 10*sec)}, Costs: []int64{2, 1, 0}}
	states := make([]limit.State, 3)
	v := limit.Verdict{Receipt: limit.Receipt{Generation: "of another charge"}}
	limit.Decide(states, nil, c, epoch.Add(4*sec), &v)
	second := epoch.Unix() + 4
	if want := (limit.Receipt{Slots: [limit.MaxLimits]int64{second, second * int64(sec), epoch.Unix() / 10}}); v.Receipt != want {
		t.Errorf("receipt %+v, want %+v", v.Receipt, want)
	}
	if want := (limit.Result{Allowed: true, Remaining: 3}); v.Result != want {
		t.Errorf("decided %+v, want %+v: nothing is charged yet", v.Result, want)
	}
	limit.Take(states, nil, c, epoch.Add(4*sec), &v)
	for i, want := range []limit.Result{
		{Allowed: true, Remaining: 3, Reset: 11 * sec}, {Allowed: true, Remaining: 2, Reset: sec}, {Allowed: true, Remaining: 9},
	} {
		if v.Limits[i] != want {
			t.Errorf("limit %d: %+v, want %+v", i, v.Limits[i], want)
		}
	}
	if want := (limit.Result{Allowed: true, Remaining: 2, Reset: 11 * sec}); v.Result != want {
		t.Errorf("charged %+v, want %+v", v.Result, want)
	}
}

// TestChecked: of a charge with limits that were checked before, Check looks at
// their number and at the costs.
func TestChecked(t *testing.T) {
	l := []limit.Limit{sliding(3, 10*sec, sec)}
	for name, test := range map[string]struct {
		charge limit.Charge
		ok     bool
	}{
		"good":              {limit.Charge{Limits: l, Costs: []int64{1}}, true},
		"not looked at":     {limit.Charge{Limits: make([]limit.Limit, 1), Costs: []int64{1}}, true},
		"a negative cost":   {limit.Charge{Limits: l, Costs: []int64{-1}}, false},
		"a cost too many":   {limit.Charge{Limits: l, Costs: []int64{1, 1}}, false},
		"neither of either": {limit.Charge{}, false},
	} {
		test.charge.Checked = true
		if err := test.charge.Check(); err == nil != test.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
