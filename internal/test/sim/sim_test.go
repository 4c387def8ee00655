package sim_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo/protocoltest"
	"github.com/slidegate/slidegate/internal/test/sim"
)

var (
	seed      = flag.Uint64("sim.seed", 1, "seed of the simulation")
	decisions = flag.Int64("sim.decisions", 1_000_000/raceCost, "decisions to simulate, over worlds of all kinds")
	only      = flag.Int("sim.world", -1, "simulate only this world of the seed")
	asJSON    = flag.Bool("sim.json", false, "print the report as JSON too")
)

// perWorld is the most decisions that one world makes.
const perWorld = 500_000

// run runs a plan in its own bubble.
func run(t *testing.T, p *sim.Plan, decisions int64, mutation protocoltest.Mutation) (r *sim.Report) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = p.Run(decisions, synctest.Wait, mutation) })
	return r
}

// TestSimulation runs worlds of all kinds until the decisions are made. No
// world may have a violation. `make sim` runs it with any seed and any number
// of decisions, `make sim-long` with very many.
func TestSimulation(t *testing.T) {
	plans, each := draw(*decisions)
	p := progress{want: *decisions, start: time.Now(), verbose: testing.Verbose() && *decisions > 2*perWorld}
	reports := make([]*sim.Report, len(plans))
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
				p.add(n, plans[n], reports[n])
			}
		})
	}
	wg.Wait()
	var all sim.Report
	for _, r := range reports {
		if r != nil {
			all.Add(r)
		}
	}
	t.Logf("seed %d, %.0f decisions a second\n%s", *seed, p.speed(), &all)
	if *asJSON {
		text, err := json.Marshal(&all)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(text))
	}
	checkReport(t, &all)
}

// draw draws enough worlds for the decisions, at least one of each kind. each
// is the number of decisions for a world with a share of 1.
func draw(decisions int64) (plans []*sim.Plan, each float64) {
	var shares float64
	for n := 0; n < len(sim.Worlds()) || shares*perWorld < float64(decisions); n++ {
		plans = append(plans, sim.Draw(*seed, n))
		shares += plans[n].Share
	}
	return plans, float64(decisions) / shares
}

func checkReport(t *testing.T, r *sim.Report) {
	t.Helper()
	if r.OverAdmissions > 0 || len(r.Violations) > 0 {
		t.Errorf("%d over-admissions, %d violations; the first:\n%s", r.OverAdmissions, len(r.Violations), &r.Violations[0])
	}
	if r.Admitted == 0 || r.Errors.Contended > r.Decisions/10 {
		t.Errorf("%d decisions, %d admitted, %d contended: a store that admits too little proves nothing", r.Decisions, r.Admitted, r.Errors.Contended)
	}
}

// progress reports the progress of a long simulation.
type progress struct {
	want    int64
	start   time.Time
	verbose bool

	mu   sync.Mutex
	made int64
}

func (p *progress) add(n int, plan *sim.Plan, r *sim.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made += r.Decisions
	for i := range r.Violations {
		fmt.Printf("-sim.seed=%d -sim.decisions=%d -sim.world=%d: %s\n", *seed, p.want, n, &r.Violations[i])
	}
	if p.verbose {
		left := time.Duration(float64(p.want-p.made) / float64(p.made) * float64(time.Since(p.start)))
		fmt.Printf("%12d of %d decisions, %8v left (world %d: %s)\n", p.made, p.want, left.Round(time.Second), n, plan.Name)
	}
}

func (p *progress) speed() float64 { return float64(p.made) / time.Since(p.start).Seconds() }

// TestSameSeedSameReport runs a world of each kind on one processor and on all.
func TestSameSeedSameReport(t *testing.T) {
	for n, name := range sim.Worlds() {
		t.Run(name, func(t *testing.T) {
			processors := runtime.GOMAXPROCS(1)
			first := run(t, sim.Draw(7, n), 3000, nil)
			runtime.GOMAXPROCS(processors)
			second := run(t, sim.Draw(7, n), 3000, nil)
			other := run(t, sim.Draw(8, n), 3000, nil)
			if a, b := marshal(t, first), marshal(t, second); a != b {
				t.Errorf("one seed, two reports:\n%s\n%s", a, b)
			}
			if marshal(t, first) == marshal(t, other) {
				t.Error("two seeds, one report")
			}
		})
	}
}

func marshal(t *testing.T, r *sim.Report) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTwoCounters compares the fullest windows of true time of both methods, in
// one world where clocks are right and nothing is lost.
func TestTwoCounters(t *testing.T) {
	slots := run(t, sim.Edge(1), 40_000, nil)
	checkReport(t, slots)
	plan := sim.Edge(1)
	plan.TwoCounters = true
	counters := run(t, plan, 40_000, nil)
	t.Logf("the fullest window of true time: %.2f times the capacity by slots, %.2f by two counters", slots.Peak, counters.Peak)
	if slots.Peak > 1 {
		t.Errorf("slots: %.3f times the capacity within a window", slots.Peak)
	}
	if slots.Peak < 1 {
		t.Errorf("slots: %.3f times the capacity within a window: the world makes too few requests", slots.Peak)
	}
	if counters.Peak < 1.99 {
		t.Errorf("two counters: %.3f times the capacity within a window, want the method's 1.99 at least", counters.Peak)
	}
}

// TestSkewedClocks measures the fullest window of true time among gateways whose
// clocks are up to a second wrong, from some time after their start on.
func TestSkewedClocks(t *testing.T) {
	for _, test := range []struct {
		warmup time.Duration
		most   float64
	}{{0, 2}, {time.Minute, 1.3}, {2 * time.Minute, 1.01}} {
		var peak float64
		for seed := range uint64(max(2, 4/raceCost)) {
			r := run(t, sim.Skewed(seed, test.warmup), 60_000, nil)
			checkReport(t, r)
			peak = max(peak, r.Peak)
		}
		t.Logf("from %v on, the fullest window of true time is %.2f times the capacity", test.warmup, peak)
		if peak < 1 || peak > test.most {
			t.Errorf("from %v on: %.3f times the capacity within a window, want 1 to %.2f", test.warmup, peak, test.most)
		}
	}
}
