package lease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/lease"
	"github.com/slidegate/slidegate/internal/store/memory"
)

var second = limit.Limit{Capacity: 1000, Window: 10 * time.Second, Granularity: time.Second}

// table counts the charges that reach it.
type table struct {
	*memory.Store
	calls []int64 // the first cost of each
	err   error   // of every call, after it has charged
	mark  string  // the counter's generation, if it is not empty
}

func (t *table) charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	t.calls = append(t.calls, c.Costs[0])
	err := t.Store.Charge(ctx, now, c, v)
	v.Receipt.Generation = cmp.Or(t.mark, v.Receipt.Generation)
	return errors.Join(err, t.err)
}

// process is a process with leases, and its requests.
type process struct {
	*testing.T
	*lease.Leases
	table *table
	c     limit.Charge
}

func newProcess(t *testing.T, l limit.Limit, most int64) *process {
	c := limit.Charge{Key: "user:7", Limits: []limit.Limit{l}, Costs: []int64{1}, Lease: int32(most)}
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
		if a.Result != b.Result || a.Limits[0] != b.Limits[0] || a.Receipt.Slots != b.Receipt.Slots || err != nil || other != nil {
			t.Fatalf("request %d: %+v, want %+v", i, a, b)
		}
	}
	if len(with.table.calls) > 30 {
		t.Errorf("%d charges for 100 requests", len(with.table.calls))
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

// TestOtherCapacity charges a counter with a lease left under another capacity,
// as after an override: the table decides. With the old capacity again, what is
// left of the lease counts.
func TestOtherCapacity(t *testing.T) {
	month := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 100_000, Window: 30 * 24 * time.Hour, Granularity: 30 * 24 * time.Hour}
	p := newProcess(t, month, 1000)
	p.busy(0, 900)
	left, at := p.remaining(time.Second), 950*time.Millisecond
	before := len(p.table.calls)
	for capacity, covered := range map[int64]bool{100: false, 100_000: true, 200_000: false} {
		p.c.Limits = []limit.Limit{month}
		p.c.Limits[0].Capacity = capacity
		if got := p.Covers(epoch.Add(at), &p.c); got != covered {
			t.Errorf("capacity %d: the lease covers it: %t", capacity, got)
		}
	}
	p.c.Limits = []limit.Limit{month}
	p.c.Limits[0].Capacity = 100
	if v, err := p.charge(at); err != nil || v.Allowed || len(p.table.calls) == before {
		t.Errorf("900 of 100 used: allowed %t, error %v, %d left before", v.Allowed, err, left)
	}
}

// TestTenSeconds: a lease of a slot of an hour ends ten seconds after the table's
// last answer, as snapshots do.
func TestTenSeconds(t *testing.T) {
	p := newProcess(t, limit.Limit{Algorithm: limit.FixedWindow, Capacity: 100_000, Window: time.Hour, Granularity: time.Hour}, 8)
	p.busy(0, 35)
	for at, want := range map[time.Duration]bool{10 * time.Second: true, 10*time.Second + 35*time.Millisecond: false, -11 * time.Second: false} {
		if got := p.Covers(epoch.Add(at), &p.c); got != want {
			t.Errorf("after %v: %t", at, got)
		}
	}
}

// TestFull has others take all but one unit of a key that a process charges
// ahead: its next request gets that unit.
func TestFull(t *testing.T) {
	p := newProcess(t, second, 1000)
	p.busy(900*time.Millisecond, 40)
	others := p.c
	others.Costs = []int64{p.remaining(time.Second) - 1}
	if err := p.table.Charge(t.Context(), epoch.Add(time.Second), &others, &limit.Verdict{}); err != nil {
		t.Fatal(err)
	}
	before := len(p.table.calls)
	p.busy(time.Second, 1)
	if calls := p.table.calls[before:]; len(calls) != 2 || calls[0] == 1 {
		t.Errorf("charges of %d: the test shows nothing", calls)
	}
	if v, err := p.charge(time.Second); err != nil || v.Allowed {
		t.Errorf("one more was admitted: %v", err)
	}
}

// TestHalfOfTheRoom has 100 units left in a second for which the process expects
// 1,000 requests. It leaves half of them to others.
func TestHalfOfTheRoom(t *testing.T) {
	l := second
	l.Capacity = 1100
	p := newProcess(t, l, 1000)
	p.busy(0, 1000)
	before := len(p.table.calls)
	p.busy(time.Second, 3)
	if most := slices.Max(p.table.calls[before:]); most < 40 || most > 50 {
		t.Errorf("a charge of %d units, want half of the 100 that were left", most)
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
	if alone := p.table.calls[len(p.table.calls)-failed+1:]; slices.Max(alone) > 1 {
		t.Errorf("after the first error, charges of %d", alone)
	}
}

// TestOneAtATime has another request arrive while a lease is taken: it makes its
// charge alone.
func TestOneAtATime(t *testing.T) {
	p := newProcess(t, second, 8)
	p.busy(0, 5)
	var during []int64
	charge := func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
		if c.Costs[0] > 1 {
			before := len(p.table.calls)
			p.busy(10*time.Millisecond, 2)
			during = append(during, p.table.calls[before:]...)
		}
		return p.table.charge(ctx, now, c, v)
	}
	if err := p.Leases.Charge(t.Context(), epoch.Add(10*time.Millisecond), &p.c, &limit.Verdict{}, charge); err != nil || !slices.Equal(during, []int64{1, 1}) {
		t.Errorf("charges of %d while a lease was taken, error %v", during, err)
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
