package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/redistest"
)

// TestEverySubjectDecides has each subject admit one request. Those on a server
// count their calls.
func TestEverySubjectDecides(t *testing.T) {
	dynamotest.Connect(t) // says how to start an engine, if there is none
	dynamo, err := connectDynamo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dynamo.close()
	redis := redisServer(redistest.Start(t).Address)
	for id, subjects := range map[string][]subject{
		"memory": inMemory, "requests": requests(), "replay": {{ours, openReplay}},
		"dynamodb": slices.Concat(dynamo.windows(), dynamo.buckets()), "redis": slices.Concat(redis.windows(), redis.buckets()),
		"processes": processes(3, dynamo.buckets()),
	} {
		for _, s := range subjects {
			t.Run(id+"/"+s.name, func(t *testing.T) {
				l, err := s.open(t.Context(), quota{1000, time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				defer l.shut()
				key := "smoke:" + id + s.name
				if l.fill != nil {
					if err := l.fill(t.Context(), key, 1); err != nil {
						t.Error(err)
					}
				}
				if allowed, err := l.decide(t.Context(), key); err != nil || !allowed {
					t.Errorf("allowed %v, error %v", allowed, err)
				}
				if l.calls != nil {
					if calls, _ := l.calls(); calls == 0 {
						t.Error("it counted no call")
					}
				}
				if !slices.Contains(order, s.name) {
					t.Error("no table has a row for it")
				}
			})
		}
	}
}

// admitting admits the capacity of each key, and counts what it admits.
func admitting(admitted, filled *atomic.Int64) subject {
	return subject{bare, func(_ context.Context, q quota) (*limiter, error) {
		var counts sync.Map
		return &limiter{
			decide: func(_ context.Context, key string) (bool, error) {
				n, _ := counts.LoadOrStore(key, new(atomic.Int64))
				allowed := n.(*atomic.Int64).Add(1) <= q.capacity
				if allowed {
					admitted.Add(1)
				}
				return allowed, nil
			},
			fill: func(_ context.Context, _ string, units int64) error {
				filled.Store(units*slots*2 - q.capacity)
				return nil
			},
		}, nil
	}}
}

// TestFlood: of each key, one request in sixty is admitted, whatever the number
// of clients.
func TestFlood(t *testing.T) {
	for _, clients := range []int{1, 16} {
		var admitted, filled atomic.Int64
		flood := test{id: "flood", load: 60, clients: clients, rounds: 2, sample: 8, subjects: []subject{admitting(&admitted, &filled)}}
		if _, err := flood.measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := int64(2 * floodKeys * floodCapacity); admitted.Load() != want {
			t.Errorf("%d clients: %d admitted, want %d", clients, admitted.Load(), want)
		}
	}
}

// TestHalfLoad: the trial finds a capacity of twice the subject's pace, and the
// window is half full before the first turn.
func TestHalfLoad(t *testing.T) {
	var admitted, filled atomic.Int64
	half := test{id: "half", load: 0.5, clients: 2, rounds: 1, sample: 1, length: 20 * time.Millisecond, subjects: []subject{admitting(&admitted, &filled)}}
	if _, err := half.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if off := filled.Load(); off < -2*slots || off > 2*slots { // less than a unit a slot
		t.Errorf("filled with %d units too many", off)
	}
}

// TestFailures: a subject that sometimes fails has a result; one that always
// fails has none, and leaves the others theirs.
func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	failing := func(name string, every int) subject {
		return subject{name, func(context.Context, quota) (*limiter, error) {
			n := 0
			return &limiter{decide: func(context.Context, string) (bool, error) {
				if n++; n%every == 0 {
					return false, broken
				}
				return true, nil
			}}, nil
		}}
	}
	var admitted, filled atomic.Int64
	c := test{clients: 1, length: time.Millisecond, rounds: 2, sample: 2, subjects: []subject{admitting(&admitted, &filled), failing("some", 2), failing("all", 1)}}
	results, err := c.measure(t.Context())
	if !errors.Is(err, broken) || len(results) != 2 || results["some"].failed != 0.5 {
		t.Errorf("error %v, results %+v", err, results)
	}
	c.subjects = []subject{failing(bare, 1), admitting(&admitted, &filled)}
	if results, err := c.measure(t.Context()); !errors.Is(err, broken) || len(results) > 0 {
		t.Errorf("without the bare operation: error %v, results %+v", err, results)
	}
}

// TestSummarise: the second round was slow for both. The ratio is the median of
// the rounds' ratios, which hardly see that.
func TestSummarise(t *testing.T) {
	alone := []turn{{wall: 10, cpu: 10, decisions: 1}, {wall: 100, cpu: 10, decisions: 1}, {wall: 10, cpu: 10, decisions: 1}}
	got := summarise([]turn{
		{wall: 40, cpu: 20, decisions: 2, mallocs: 6, roundTrips: 4, writes: 2},
		{wall: 600, cpu: 20, decisions: 2, mallocs: 6, roundTrips: 4, writes: 2},
		{wall: 60, cpu: 80, decisions: 2, failed: 2, mallocs: 10, roundTrips: 4, writes: 2},
	}, alone)
	got.p99Ratio = 0 // without latencies it is NaN
	if want := (result{wall: 30, wallRatio: 3, cpu: 10, cpuRatio: 1, allocs: 3, calls: 2, writes: 1, failed: 1. / 3}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestMost counts only decisions that certainly lie in one window.
func TestMost(t *testing.T) {
	at := func(sent, answered int) span {
		return span{time.UnixMilli(int64(sent)), time.UnixMilli(int64(answered))}
	}
	if got := most([]span{at(0, 1), at(500, 501), at(999, 1000), at(1000, 1001)}, time.Second); got != 3 {
		t.Errorf("%d in a window, want 3", got)
	}
	if got := most([]span{at(0, 1), at(1, 1500)}, time.Second); got != 1 {
		t.Errorf("%d in a window, want 1", got)
	}
}

// TestReport writes the tables into a page. A target is met as it is written,
// and one that was not measured says so.
func TestReport(t *testing.T) {
	all := results{"memory/one": {bare: {cpu: 70, cpuRatio: 1}, ours: {cpu: 84, cpuRatio: 1.504}, xRate: {cpuRatio: 1.2}}}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(page, all.report("today")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n" + begin + "Measured today.\n", end + "after\n",
		"| memory, one key | 1.50 × bare | ≤ 1.50 × bare | met |\n", "|  | 1.25 × x/time/rate | ≤ 1.10 × x/time/rate | **missed** |\n",
		"| a decision among 100 rules | – | ≤ 2.00 µs | not measured |\n",
		"| bare | 70 ns | – |", "| Slidegate | 1.50 × | – |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if n := p99(nil); !math.IsNaN(n) {
		t.Errorf("p99 of none: %v", n)
	}
}
