package limit_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// moment is one charge of a trace, at a time after the trace's start, with what it must get.
type moment struct {
	at        time.Duration
	cost      int64
	allowed   bool
	remaining int64
	reset     time.Duration
	retry     time.Duration
}

const (
	ms  = time.Millisecond
	sec = time.Second
)

// epoch starts every trace: a whole minute, so that slots and windows start with it.
var epoch = time.Unix(1_700_000_040, 0)

func sliding(capacity int64, window, granularity time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.SlidingWindow, Capacity: capacity, Window: window, Granularity: granularity}
}

func fixed(capacity int64, window time.Duration) limit.Limit {
	return limit.Limit{Algorithm: limit.FixedWindow, Capacity: capacity, Window: window, Granularity: window}
}

func TestTraces(t *testing.T) {
	tests := map[string]struct {
		limit limit.Limit
		trace []moment
	}{
		"sliding: a window of any position holds the capacity": {sliding(3, 10*sec, sec), []moment{
			// time      cost allowed left reset        retry after
			{0, 1, true, 2, 11 * sec, 0},
			{500 * ms, 1, true, 1, 10500 * ms, 0},
			{5 * sec, 1, true, 0, 11 * sec, 0},
			{9 * sec, 1, false, 0, 7 * sec, 2 * sec},
			{10*sec + 999*ms, 1, false, 0, 5001 * ms, ms}, // slot 0 still counts: the window reaches into it
			{11*sec - 1, 1, false, 0, 5*sec + 1, 1},       // one nanosecond early
			{11 * sec, 1, true, 1, 11 * sec, 0},           // both units of slot 0 are gone
			{11 * sec, 1, true, 0, 11 * sec, 0},
			{11 * sec, 1, false, 0, 11 * sec, 5 * sec}, // the unit of slot 5 leaves at 16 s
		}},
		"sliding: costs above one wait for as many units as they need": {sliding(10, 10*sec, sec), []moment{
			{0, 4, true, 6, 11 * sec, 0},
			{sec, 4, true, 2, 11 * sec, 0},
			{2 * sec, 3, false, 2, 10 * sec, 9 * sec},
			{2 * sec, 7, false, 2, 10 * sec, 10 * sec},
			{2 * sec, 2, true, 0, 11 * sec, 0},
			{2 * sec, 10, false, 0, 11 * sec, 11 * sec},
			{2 * sec, 11, false, 0, 11 * sec, limit.Never},
		}},
		"sliding: a cost of nothing is always allowed and counts nothing": {sliding(1, 10*sec, sec), []moment{
			{0, 0, true, 1, 0, 0},
			{0, 1, true, 0, 11 * sec, 0},
			{0, 0, true, 0, 11 * sec, 0},
			{0, 1, false, 0, 11 * sec, 11 * sec},
		}},
		"sliding: a clock behind the newest slot is in it": {sliding(2, 10*sec, sec), []moment{
			{20 * sec, 1, true, 1, 11 * sec, 0},
			{3 * sec, 1, true, 0, 28 * sec, 0},
			{3 * sec, 1, false, 0, 28 * sec, 28 * sec},
			{31*sec - 1, 1, false, 0, 1, 1},
			{31 * sec, 1, true, 1, 11 * sec, 0},
		}},
		"sliding: an idle gap empties it": {sliding(2, 10*sec, sec), []moment{
			{0, 2, true, 0, 11 * sec, 0},
			{time.Hour, 2, true, 0, 11 * sec, 0},
		}},
		"sliding: capacity one": {sliding(1, sec, 100*ms), []moment{
			{0, 1, true, 0, 1100 * ms, 0},
			{1099 * ms, 1, false, 0, ms, ms},
			{1100 * ms, 1, true, 0, 1100 * ms, 0},
		}},
		"sliding: before the epoch": {sliding(1, 10*sec, sec), []moment{
			{-epoch.Sub(time.Unix(0, 0)) - 1500*ms, 1, true, 0, 10500 * ms, 0}, // slot -2
			{-epoch.Sub(time.Unix(0, 0)), 1, false, 0, 9 * sec, 9 * sec},
		}},
		"fixed: the border of two windows lets twice the capacity through": {fixed(2, 10*sec), []moment{
			{9 * sec, 2, true, 0, sec, 0},
			{9 * sec, 1, false, 0, sec, sec},
			{10*sec - 1, 1, false, 0, 1, 1},
			{10 * sec, 2, true, 0, 10 * sec, 0},
		}},
		"fixed: a clock behind the newest window is in it": {fixed(2, 10*sec), []moment{
			{10 * sec, 1, true, 1, 10 * sec, 0},
			{sec, 1, true, 0, 19 * sec, 0},
			{sec, 1, false, 0, 19 * sec, 19 * sec},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var state limit.State
			for i, m := range test.trace {
				now := epoch.Add(m.at)
				got := state.Judge(&test.limit, now, m.cost)
				if got.Allowed {
					got = state.Take(&test.limit, now, m.cost)
				}
				want := limit.Result{Allowed: m.allowed, Remaining: m.remaining, Reset: m.reset, RetryAfter: m.retry}
				if got != want {
					t.Fatalf("moment %d, %v, cost %d:\ngot  %+v\nwant %+v", i, m.at, m.cost, got, want)
				}
			}
		})
	}
}

func TestLoweredCapacity(t *testing.T) {
	wide, narrow := sliding(5, 10*sec, sec), sliding(2, 10*sec, sec)
	var state limit.State
	state.Take(&wide, epoch, 2)
	state.Take(&wide, epoch.Add(3*sec), 3)
	got := state.Judge(&narrow, epoch.Add(4*sec), 1)
	if want := (limit.Result{Remaining: 0, Reset: 10 * sec, RetryAfter: 10 * sec}); got != want {
		t.Errorf("got %+v, want %+v: five units used of two leave nothing until the last three have gone", got, want)
	}
}

func TestGiveBack(t *testing.T) {
	l := sliding(3, 10*sec, sec)
	var state limit.State
	state.Take(&l, epoch, 3)
	slot, _ := state.Newest()
	if got := state.GiveBack(slot, 2); got != 2 {
		t.Errorf("gave back %d, want 2", got)
	}
	if got := state.Judge(&l, epoch, 2); !got.Allowed || got.Remaining != 2 {
		t.Errorf("after giving back 2 of 3: %+v", got)
	}
	if got := state.GiveBack(slot, 5); got != 1 {
		t.Errorf("gave back %d, want the 1 that was left", got)
	}
	if got := state.GiveBack(slot-1, 1); got != 0 {
		t.Errorf("gave back %d out of a slot never charged", got)
	}
	if h, ok := state.Newest(); !ok || h != slot {
		t.Errorf("newest slot is %d, %v: time ran backwards", h, ok)
	}
	if got := state.Judge(&l, epoch, 1); got.Reset != 0 {
		t.Errorf("reset %v of an empty key", got.Reset)
	}
}

func TestCombine(t *testing.T) {
	a := limit.Result{Allowed: true, Remaining: 3, Reset: 5 * sec}
	b := limit.Result{Remaining: 1, Reset: 2 * sec, RetryAfter: 2 * sec}
	c := limit.Result{Remaining: 9, Reset: sec, RetryAfter: limit.Never}
	if got, want := limit.Combine([]limit.Result{a, b}), (limit.Result{Remaining: 1, Reset: 5 * sec, RetryAfter: 2 * sec}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := limit.Combine([]limit.Result{c, b, a}); got.RetryAfter != limit.Never {
		t.Errorf("got %+v: never is later than any time", got)
	}
	if got := limit.Combine([]limit.Result{a, a}); !got.Allowed {
		t.Errorf("got %+v: all allow", got)
	}
}

// TestHugeCost asks for costs at which used + cost would overflow.
func TestHugeCost(t *testing.T) {
	l := sliding(limit.MaxCapacity, 10*sec, sec)
	var state limit.State
	state.Take(&l, epoch, limit.MaxCapacity)
	if got := state.Judge(&l, epoch, 1<<63-1); got.Allowed || got.RetryAfter != limit.Never {
		t.Errorf("got %+v", got)
	}
}

func TestCheck(t *testing.T) {
	good := sliding(3, 10*sec, sec)
	wide := sliding(3, 601*sec, sec)
	none := sliding(0, 10*sec, sec)
	for name, c := range map[string]limit.Charge{
		"no limits":           {},
		"a cost too few":      {Limits: []limit.Limit{good}},
		"nine limits":         {Limits: make([]limit.Limit, 9), Costs: make([]int64, 9)},
		"a negative cost":     {Limits: []limit.Limit{good}, Costs: []int64{-1}},
		"too many slots":      {Limits: []limit.Limit{wide}, Costs: []int64{1}},
		"no capacity":         {Limits: []limit.Limit{none}, Costs: []int64{1}},
		"no slot has a width": {Limits: []limit.Limit{{Capacity: 1, Window: sec}}, Costs: []int64{1}},
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := limit.Charge{Limits: []limit.Limit{good}, Costs: []int64{0}}
	if err := c.Check(); err != nil || !c.Free() {
		t.Errorf("error %v, free %v for a good charge of nothing", err, c.Free())
	}
}
