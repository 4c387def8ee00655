package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo/lease"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

var second = limit.Limit{Capacity: 1000, Window: 10 * time.Second, Granularity: time.Second}

// table counts the charges that reach it.
type table struct {
	*memory.Store
	calls []int64 // the first cost of each
	err   error   // of every call, after it has charged
}

func (t *table) charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	t.calls = append(t.calls, c.Costs[0])
	return errors.Join(t.Store.Charge(ctx, now, c, v), t.err)
}

// process is a process with leases, and its requests.
type process struct {
	*testing.T
	*lease.Leases
	table *table
	c     limit.Charge
}

func newProcess(t *testing.T, l limit.Limit, most int64) *process {
	c := limit.Charge{Key: "user:7", Limits: []limit.Limit{l}, Costs: []int64{1}, Lease: most}
	return &process{t, lease.New(), &table{Store: memory.New(0)}, c}
}

func (p *process) charge(at time.Duration) (v limit.Verdict, err error) {
	err = p.Leases.Charge(p.Context(), epoch.Add(at), &p.c, &v, p.table.charge)
	return v, err
}

// busy admits n requests, a millisecond apart, from a moment on.
func (p *process) busy(from time.Duration, n int) {
	p.Helper()
	for i := range n {
		if v, err := p.charge(from + time.Duration(i)*time.Millisecond); err != nil || !v.Allowed {
			p.Fatalf("request %d at %v: %v, %v", i, from, v.Allowed, err)
		}
	}
}

// TestTrace shows the charges that reach the table: a process takes half of
// what it expects until the period ends.
func TestTrace(t *testing.T) {
	p := newProcess(t, second, 8)
	p.busy(0, 40)
	if got, want := fmt.Sprint(p.table.calls), "[1 1 1 1 1 2 3 4 6 8 8 8]"; got != want {
		t.Errorf("charges of %v, want %v", got, want)
	}
}

// TestAnswers compares the answers of one process with those of a store without
// leases: within a slot they are the same.
func TestAnswers(t *testing.T) {
	with, without := newProcess(t, second, 8), newProcess(t, second, 0)
	for i := range 100 {
		at := time.Duration(i) * 7 * time.Millisecond
		a, err := with.charge(at)
		b, other := without.charge(at)
		if a.Result != b.Result || a.Limits[0] != b.Limits[0] || err != nil || other != nil {
			t.Fatalf("request %d: %+v, want %+v", i, a.Result, b.Result)
		}
	}
	if len(with.table.calls) > 30 {
		t.Errorf("%d charges for 100 requests", len(with.table.calls))
	}
}

// TestEnd: a lease ends with its slot, even for a clock that is set back
// afterwards; what is left is lost.
func TestEnd(t *testing.T) {
	p := newProcess(t, second, 8)
	p.busy(0, 35)
	before := len(p.table.calls)
	if v, _ := p.charge(999 * time.Millisecond); !v.Allowed || len(p.table.calls) != before {
		t.Fatal("the lease is used up already: the test shows nothing")
	}
	if v, _ := p.charge(time.Second); !v.Allowed || len(p.table.calls) != before+1 {
		t.Error("a lease was used in the next slot")
	}
}

// TestCovers: what a lease admits, no snapshot denies.
func TestCovers(t *testing.T) {
	p := newProcess(t, second, 8)
	if p.Covers(epoch, &p.c) {
		t.Error("no lease covers a charge")
	}
	p.busy(0, 35)
	for at, want := range map[time.Duration]bool{40 * time.Millisecond: true, time.Second: false} {
		if got := p.Covers(epoch.Add(at), &p.c); got != want {
			t.Errorf("at %v: %v", at, got)
		}
	}
	large := p.c
	large.Costs = []int64{9}
	if p.Covers(epoch.Add(40*time.Millisecond), &large) {
		t.Error("a lease covers more than it has")
	}
}

// TestFull: a lease never denies what fits alone.
func TestFull(t *testing.T) {
	p := newProcess(t, second, 1000)
	p.busy(0, 900)
	p.busy(900*time.Millisecond, 50)
	p.busy(950*time.Millisecond, 49)
	other := newProcess(t, second, 1000)
	other.table = p.table
	admitted := 0
	for range 1000 {
		if v, _ := other.charge(999 * time.Millisecond); v.Allowed {
			admitted++
		}
	}
	if admitted != 1 {
		t.Errorf("%d admitted, want the last one", admitted)
	}
}

// TestErrors: a charge of unknown outcome gives no lease.
func TestErrors(t *testing.T) {
	p := newProcess(t, second, 8)
	p.busy(0, 5)
	p.table.err = errors.New("connection reset")
	failed := 0
	for i := range 20 {
		if _, err := p.charge(time.Duration(10+i) * time.Millisecond); err != nil {
			failed++
		}
	}
	if failed < 18 { // but for those of the lease from before
		t.Errorf("%d of 20 requests failed", failed)
	}
}

// TestReset: units of a counter that was deleted are not added to those of the
// next one.
func TestReset(t *testing.T) {
	p := newProcess(t, second, 8)
	p.busy(0, 35)
	if err := p.table.Reset(t.Context(), p.c.Key); err != nil {
		t.Fatal(err)
	}
	p.busy(40*time.Millisecond, 10)
	v := limit.Verdict{}
	if err := p.table.Peek(t.Context(), epoch.Add(time.Second/2), &p.c, &v); err != nil || v.Remaining >= 1000 {
		t.Errorf("%d remaining, %v", v.Remaining, err)
	}
}

// TestAlone: buckets, logs and charges of nothing go to the table.
func TestAlone(t *testing.T) {
	for _, l := range []limit.Limit{
		{Algorithm: limit.TokenBucket, Capacity: 1000, Window: time.Second, Burst: 1000},
		{Algorithm: limit.SlidingWindowLog, Capacity: 1000, Window: time.Second, Granularity: limit.Exact},
	} {
		p := newProcess(t, l, 100)
		p.busy(0, 50)
		if len(p.table.calls) != 50 {
			t.Errorf("%v: %d charges for 50 requests", l.Algorithm, len(p.table.calls))
		}
	}
	p := newProcess(t, second, 8)
	p.busy(0, 35)
	before := len(p.table.calls)
	p.c.Costs = []int64{0}
	p.busy(40*time.Millisecond, 1)
	if len(p.table.calls) != before+1 {
		t.Error("a charge of nothing was admitted by a lease")
	}
}

// TestConcurrent: goroutines share the leases of a key, and at most one at a
// time takes a new one.
func TestConcurrent(t *testing.T) {
	store, leases := memory.New(0), lease.New()
	c := limit.Charge{Key: "user:7", Limits: []limit.Limit{second}, Costs: []int64{1}, Lease: 20}
	var mu sync.Mutex
	var charged, admitted, ahead, most int64
	charge := func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
		mu.Lock()
		if c.Costs[0] > 1 {
			ahead++
			most = max(most, ahead)
		}
		mu.Unlock()
		err := store.Charge(ctx, now, c, v)
		mu.Lock()
		defer mu.Unlock()
		if c.Costs[0] > 1 {
			ahead--
		}
		if v.Allowed {
			charged += c.Costs[0]
		}
		return err
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				var v limit.Verdict
				if err := leases.Charge(context.Background(), epoch.Add(time.Duration(i)*time.Millisecond), &c, &v, charge); err != nil {
					t.Error(err)
				}
				if v.Allowed {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if admitted > charged || charged > second.Capacity || charged-admitted > 20 || most > 1 {
		t.Errorf("%d admitted, %d charged, %d charges ahead at once", admitted, charged, most)
	}
}
