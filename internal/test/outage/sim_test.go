package outage_test

import (
	"flag"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/outage"
)

var (
	seed      = flag.Uint64("sim.seed", 1, "seed of the simulation")
	decisions = flag.Int64("sim.decisions", 250_000/raceCost, "decisions to simulate, over worlds of all kinds")
	only      = flag.Int("sim.world", -1, "simulate only this world of the seed")
)

// perWorld is the most decisions that one world makes.
const perWorld = 500_000

// run runs a plan in its own bubble.
func run(t *testing.T, p *outage.Plan, decisions int64, mutation dynamomodel.Mutation) (r *outage.Report) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = p.Run(decisions, synctest.Wait, mutation) })
	return r
}

// TestSimulation runs worlds of all kinds until the decisions are made. No
// world may have a violation. `make sim` runs it with any seed and any number
// of decisions.
func TestSimulation(t *testing.T) {
	plans, each := draw(*decisions)
	start := time.Now()
	reports := make([]*outage.Report, len(plans))
	next := make(chan int, len(plans))
	for n := range plans {
		if *only < 0 || n == *only {
			next <- n
		}
	}
	close(next)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := range next {
				reports[n] = run(t, plans[n], int64(each*plans[n].Share), nil)
				if *decisions > 2*perWorld {
					t.Logf("world %d of %d: %s, %v since the start", n, len(plans), plans[n].Name, time.Since(start))
				}
			}
		})
	}
	wg.Wait()
	all := outage.NewReport()
	for n, r := range reports {
		if r == nil {
			continue
		}
		all.Add(r)
		if len(r.Violations) > 0 {
			t.Logf("to repeat: -sim.seed=%d -sim.decisions=%d -sim.world=%d", *seed, *decisions, n)
		}
	}
	rate := float64(all.Counts["decisions"]) / time.Since(start).Seconds()
	t.Logf("seed %d, %.0f decisions a second\n%s", *seed, rate, all)
	checkReport(t, all)
}

// draw draws enough worlds for the decisions, at least one of each kind. each
// is the number of decisions for a world with a share of 1.
func draw(decisions int64) (plans []*outage.Plan, each float64) {
	var shares float64
	for n := 0; n < len(outage.Worlds()) || shares*perWorld < float64(decisions); n++ {
		plans = append(plans, outage.Draw(*seed, n))
		shares += plans[n].Share
	}
	return plans, float64(decisions) / shares
}

func checkReport(t *testing.T, r *outage.Report) {
	t.Helper()
	c := r.Counts
	if n := c["over-admissions"]; n > 0 || len(r.Violations) > 0 {
		t.Errorf("%d over-admissions, %d violations; the first:\n%s", n, len(r.Violations), r.Violations[0])
	}
	if contended := c["no answer, contended"]; c["admitted"] == 0 || contended > c["decisions"]/10 {
		t.Errorf("%d admitted, %d contended: a store that admits too little proves nothing", c["admitted"], contended)
	}
}

// TestSameSeedSameReport runs a world of each kind on one processor and on all.
func TestSameSeedSameReport(t *testing.T) {
	for n, name := range outage.Worlds() {
		t.Run(name, func(t *testing.T) {
			processors := runtime.GOMAXPROCS(1)
			first := run(t, outage.Draw(7, n), 3000, nil)
			runtime.GOMAXPROCS(processors)
			second := run(t, outage.Draw(7, n), 3000, nil)
			other := run(t, outage.Draw(8, n), 3000, nil)
			if !reflect.DeepEqual(first, second) {
				t.Errorf("one seed, two reports:\n%s\n%s", first, second)
			}
			if reflect.DeepEqual(first, other) {
				t.Error("two seeds, one report")
			}
		})
	}
}

// edge returns a world without faults whose clients know where windows end: one
// limit of 100 a minute, a burst at every border, and enough requests in
// between.
func edge() *outage.Plan {
	return &outage.Plan{
		Name: "edge", Seed: 1, Environments: 50,
		Network: outage.Network{Latency: 2 * time.Millisecond, Deadline: 250 * time.Millisecond},
		Subjects: []outage.Subject{{
			Limit: limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second},
			Rate:  20, MaxCost: 1, Edges: true, Active: 3 * time.Minute, Pause: 3 * time.Minute,
		}},
	}
}

// TestEdges measures the fullest window of true time in a world where clocks are
// right and nothing is lost, but clients know where windows end.
func TestEdges(t *testing.T) {
	r := run(t, edge(), 40_000, nil)
	checkReport(t, r)
	if r.Peak != 1 {
		t.Errorf("%.3f times the capacity within a window, want it full, and no more", r.Peak)
	}
}

// skewed returns a world of gateways whose clocks are up to a second wrong. The
// window is as long as two of the clocks differ at most, and the gateways take
// turns, so each could admit a whole capacity within the window of another.
// From the end of the warm-up on, the report's Peak shows whether they do.
func skewed(seed uint64, warmup time.Duration) *outage.Plan {
	return &outage.Plan{
		Name: "skewed", Seed: seed, Environments: 4, Gateways: true, Turns: 1070 * time.Millisecond,
		Network: outage.Network{Latency: 2 * time.Millisecond, Deadline: 250 * time.Millisecond},
		Clocks:  outage.Clocks{Error: time.Second},
		Warmup:  warmup,
		Subjects: []outage.Subject{{
			Limit: limit.Limit{Capacity: 100, Window: 2 * time.Second, Granularity: 100 * time.Millisecond},
			Rate:  400, MaxCost: 1, Active: 10 * time.Second, Pause: 3 * time.Second,
		}},
	}
}

// TestSkewedClocks measures the fullest window of true time among gateways whose
// clocks are up to a second wrong, from some time after their start on.
func TestSkewedClocks(t *testing.T) {
	for _, test := range []struct {
		warmup time.Duration
		most   float64
	}{{0, 2}, {time.Minute, 1.2}, {2 * time.Minute, 1.1}} {
		var peak float64
		for seed := range uint64(2) {
			r := run(t, skewed(seed, test.warmup), 60_000, nil)
			checkReport(t, r)
			peak = max(peak, r.Peak)
		}
		t.Logf("from %v on, the fullest window of true time is %.2f times the capacity", test.warmup, peak)
		if peak < 1 || peak > test.most {
			t.Errorf("from %v on: %.3f times the capacity within a window, want 1 to %.2f", test.warmup, peak, test.most)
		}
	}
}
