package lease_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestCostThatNeverFits charges costs above the capacity on a key that would
// take leases. Several of the largest cost at once overflow to fewer than none.
func TestCostThatNeverFits(t *testing.T) {
	for _, cost := range []int64{second.Capacity + 1, 1 << 62, math.MaxInt64} {
		p := newProcess(t, second, 8)
		p.busy(0, 30)
		before := p.remaining(30 * time.Millisecond)
		p.c.Costs[0] = cost
		if v, err := p.charge(30 * time.Millisecond); err != nil || v.Allowed {
			t.Errorf("cost %d: allowed %v, error %v", cost, v.Allowed, err)
		}
		p.c.Costs[0] = 1
		if after := p.remaining(30 * time.Millisecond); after != before {
			t.Errorf("cost %d: %d units remain, before %d", cost, after, before)
		}
	}
}

// TestLostUnits renews the lease of a limit with long slots, while units of one
// with short slots are left. Those are lost: when their own slot ends, and with a
// later renewal if another process, whose clock is ahead, has charged a later slot,
// or an operator has deleted the counter, in which they would count in no window.
func TestLostUnits(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*process) error
		then time.Duration // the time of the next request
	}{
		"the next slot": {nil, time.Second},
		"a slot of five later": {func(p *process) error {
			return p.table.Charge(t.Context(), epoch.Add(5*time.Second), &p.c, &limit.Verdict{})
		}, 80 * time.Millisecond},
		"deleted in memory":   {func(p *process) error { return p.table.Reset(t.Context(), p.c.Key) }, 80 * time.Millisecond},
		"deleted in DynamoDB": {func(p *process) error { p.table.mark = "next"; return nil }, 80 * time.Millisecond},
	} {
		p := newTwoLimits(t)
		if test.do != nil {
			if err := test.do(p); err != nil {
				t.Fatal(err)
			}
			p.renew(60 * time.Millisecond)
		}
		before := p.remaining(test.then)
		if p.busy(test.then, 1); p.remaining(test.then) == before {
			t.Errorf("%s: a request was admitted by units that are lost", name)
		}
	}
}

// newTwoLimits returns a process whose lease has units left of a limit with
// slots of a second, and was renewed for one with slots of a minute.
func newTwoLimits(t *testing.T) *process {
	p := newProcess(t, second, 8)
	p.c.Limits = append(p.c.Limits, limit.Limit{Capacity: 10_000, Window: time.Hour, Granularity: time.Minute})
	p.c.Costs = []int64{1, 1}
	p.busy(0, 35)
	p.renew(40 * time.Millisecond)
	return p
}

// renew has requests cost units of the second limit alone, until the process
// takes another lease.
func (p *process) renew(from time.Duration) {
	p.c.Costs = []int64{0, 1}
	p.busy(from, 20)
	p.c.Costs = []int64{1, 1}
}

// TestClockSetBack sets the clock back by an hour. What the process expects is
// then counted from there, and not from all requests since.
func TestClockSetBack(t *testing.T) {
	p := newProcess(t, second, 1000)
	p.busy(time.Hour, 10)
	for second := range 10 {
		p.busy(time.Duration(second)*time.Second, 30)
	}
	if most := slices.Max(p.table.calls); most > 16 {
		t.Errorf("a charge of %d for 30 requests a second", most)
	}
}

// TestRequestsOvertakeEachOther has every other request of a second come from
// just before it. They do not end what the process expects.
func TestRequestsOvertakeEachOther(t *testing.T) {
	p := newProcess(t, second, 8)
	for i := range 20 {
		p.busy(time.Second+time.Duration(i)*time.Millisecond, 1)
		p.busy(999*time.Millisecond, 1)
	}
	if n := len(p.table.calls); n > 35 {
		t.Errorf("%d charges for 40 requests", n)
	}
}

// TestPeriodOfSeveralLimits charges a limit of short slots by every other
// request. The process counts all of them over the same period.
func TestPeriodOfSeveralLimits(t *testing.T) {
	p := newProcess(t, limit.Limit{Capacity: 10_000, Window: time.Hour, Granularity: time.Minute}, 8)
	p.c.Limits = append(p.c.Limits, limit.Limit{Capacity: 1000, Window: time.Second, Granularity: 100 * time.Millisecond})
	for i := range 60 {
		p.c.Costs = []int64{1, int64(i % 2)}
		p.busy(time.Duration(i)*time.Millisecond, 1)
	}
	if n := len(p.table.calls); n > 40 {
		t.Errorf("%d charges for 60 requests", n)
	}
}

// remaining returns the units that the table has left of the first limit.
func (p *process) remaining(at time.Duration) int64 {
	p.Helper()
	var v limit.Verdict
	if err := p.table.Peek(p.Context(), epoch.Add(at), &p.c, &v); err != nil {
		p.Fatal(err)
	}
	return v.Limits[0].Remaining
}
