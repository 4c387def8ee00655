package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/lease"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/golden"
)

var epoch = time.Unix(1_700_000_040, 0)

// fleet is a number of processes that share a counter. The memory store stands
// for the table: it too charges all or nothing, in the order of the calls.
type fleet struct {
	processes int
	limit     limit.Limit
	load      float64 // requests in a window ÷ the capacity
	lease     int64
	seed      uint64
	changes   bool // the capacity is a quarter every other quarter of a window
}

// outcome is what the fleet did within some windows.
type outcome struct {
	requests, admitted, writes int64
	fullest                    int64 // the most admissions in a window of any position
	over                       int64 // admissions by a charge whose window then had more than it states
}

// run sends requests at random times for some windows.
func (f fleet) run(t *testing.T, windows int) (o outcome) {
	t.Helper()
	random := rand.New(rand.NewPCG(f.seed, 1))
	table, length := memory.New(0), time.Duration(windows)*f.limit.Window
	processes := make([]*lease.Leases, f.processes)
	for i := range processes {
		processes[i] = lease.New()
	}
	charge := func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
		err := table.Charge(ctx, now, c, v)
		if v.Allowed {
			o.writes++
		}
		return err
	}
	c := limit.Charge{Key: "user:7", Limits: []limit.Limit{f.limit}, Costs: []int64{1}, Lease: int32(f.lease)}
	var times []time.Duration
	for range int64(float64(windows) * f.load * float64(f.limit.Capacity)) {
		times = append(times, time.Duration(random.Int64N(int64(length))))
	}
	slices.Sort(times)
	var admissions []time.Duration
	for _, at := range times {
		n, v := random.IntN(f.processes), limit.Verdict{}
		c.Limits = []limit.Limit{f.limit}
		if f.changes && at/(f.limit.Window/4)%2 == 1 {
			c.Limits[0].Capacity /= 4
		}
		if err := processes[n].Charge(t.Context(), epoch.Add(at), &c, &v, charge); err != nil {
			t.Fatal(err)
		}
		if o.requests++; v.Allowed {
			admissions = append(admissions, at)
			first, _ := slices.BinarySearch(admissions, at-f.limit.Window+1)
			if int64(len(admissions)-first) > c.Limits[0].Capacity {
				o.over++
			}
		}
	}
	o.admitted, o.fullest = int64(len(admissions)), fullest(admissions, f.limit.Window)
	return o
}

// fullest returns the most times within a window of any position.
func fullest(times []time.Duration, window time.Duration) (most int64) {
	first := 0
	for i, at := range times {
		for times[first] <= at-window {
			first++
		}
		most = max(most, int64(i-first+1))
	}
	return most
}

// TestSimulation compares fleets with leases and without: no window may have
// more admissions than the algorithm allows. The golden file has the writes that
// leases save, and what they cost in admissions.
func TestSimulation(t *testing.T) {
	var text strings.Builder
	fmt.Fprintf(&text, "%-52s %4s  %9s  %5s  %20s  %s\n", "limit", "load", "processes", "lease", "writes per admission", "admitted, of those without leases")
	for _, l := range []limit.Limit{
		{Capacity: 20_000, Window: 10 * time.Second, Granularity: time.Second},
		{Capacity: 2000, Window: time.Second, Granularity: 100 * time.Millisecond},
		{Algorithm: limit.FixedWindow, Capacity: 20_000, Window: 10 * time.Second, Granularity: 10 * time.Second},
		{Algorithm: limit.SlidingWindowCounter, Capacity: 20_000, Window: 10 * time.Second, Granularity: 10 * time.Second},
	} {
		most := l.Capacity // in a window of any position
		if l.Algorithm != limit.SlidingWindow {
			most *= 2
		}
		for _, f := range []fleet{
			{load: 0.5, processes: 4}, {load: 0.5, processes: 50}, {load: 1, processes: 4}, {load: 3, processes: 50},
		} {
			f.limit, f.seed = l, 7
			without := f.run(t, 4)
			if without.writes != without.admitted {
				t.Errorf("%+v: %d writes for %d admissions", f, without.writes, without.admitted)
			}
			for _, f.lease = range []int64{10, 100} {
				with := f.run(t, 4)
				if with.fullest > most {
					t.Errorf("%+v: %d admissions in a window", f, with.fullest)
				}
				fmt.Fprintf(&text, "%-52s %4.1f  %9d  %5d  %20.3f  %.4f\n", fmt.Sprintf("%v, %d in %v by %v", l.Algorithm, l.Capacity, l.Window, l.Granularity),
					f.load, f.processes, f.lease, float64(with.writes)/float64(with.admitted), float64(with.admitted)/float64(without.admitted))
			}
		}
	}
	golden.Check(t, "testdata/leases.txt", text.String())
}

// TestSimulationOfChanges lowers and raises the capacity of all processes at
// once, while leases are out: from then on, no request is admitted in a window
// that is fuller than its charge states.
func TestSimulationOfChanges(t *testing.T) {
	for _, load := range []float64{0.2, 0.5, 1, 3} {
		f := fleet{processes: 4, load: load, lease: 100, seed: 11, changes: true}
		f.limit = limit.Limit{Capacity: 20_000, Window: 10 * time.Second, Granularity: time.Second}
		if o := f.run(t, 4); o.over > 0 || o.writes == o.admitted {
			t.Errorf("load %v: %d of %d admissions over the capacity, %d writes", load, o.over, o.admitted, o.writes)
		}
	}
}
