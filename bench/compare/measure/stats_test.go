package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		numbers []float64
		want    float64
	}{{[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.numbers); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.numbers, got, c.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v", got)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	for _, c := range []struct {
		sorted []int64
		p      float64
		want   int64
	}{{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0, 1}, {[]int64{3}, 99, 3}, {nil, 99, 0}} {
		if got := Percentile(c.sorted, c.p); got != c.want {
			t.Errorf("Percentile(%d numbers, %v) = %v, want %v", len(c.sorted), c.p, got, c.want)
		}
	}
}

// TestSummarise: the second round was slow for both. The ratio is the median of
// the rounds' ratios, which hardly see that.
func TestSummarise(t *testing.T) {
	bare := []turn{{wall: 10, cpu: 10, decisions: 1}, {wall: 100, cpu: 10, decisions: 1}, {wall: 10, cpu: 10, decisions: 1}}
	turns := []turn{
		{wall: 40, cpu: 20, decisions: 2, allowed: 1, latencies: []int64{30, 10}, mallocs: 6, calls: Calls{4, 0, 2}, remote: true},
		{wall: 600, cpu: 20, decisions: 2, allowed: 2, latencies: []int64{300, 20}, mallocs: 6, calls: Calls{4, 2, 2}},
		{wall: 60, cpu: 80, decisions: 2, failed: 2, latencies: []int64{40, 50}, mallocs: 10, calls: Calls{4, 1, 2}},
	}
	got := summarise(&Case{ID: "a case"}, "one", turns, bare)
	want := Result{
		Case: "a case", Subject: "one", Time: 30, Ratio: 3, Low: 2, High: 3, P50: 30, P99: 300, CPU: 10, CPURat: 1, Allocs: 3,
		Remote: true, Calls: 2, Reads: 0.5, Writes: 1, Allowed: 0.5, Failed: 1. / 3,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := summarise(&Case{ByCPU: true}, "one", turns, bare); got.Ratio != 1 || got.Time != 10 {
		t.Errorf("by CPU: ratio %v, %v ns", got.Ratio, got.Time)
	}
}

// TestFlood: of each key, one request in sixty is admitted, whatever the number
// of clients, and each turn ends with the last request of a key.
func TestFlood(t *testing.T) {
	for _, clients := range []int{1, 16} {
		c := Case{Flood: 60, Window: time.Minute, Clients: clients, Slots: 60, Turn: time.Millisecond, Rounds: 2, Sample: 8, Subjects: []Subject{counting()}}
		results, err := Compare(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		if got := results[0].Allowed; math.Abs(got-1./60) > 0.0005 {
			t.Errorf("%d clients: %.4f allowed, want 1/60", clients, got)
		}
	}
}

// counting admits the capacity of each key.
func counting() Subject {
	return Subject{Name: "count", Open: func(_ context.Context, l Limit) (*Limiter, error) {
		counts := make(chan map[string]int64, 1)
		counts <- map[string]int64{}
		return &Limiter{Decide: func(_ context.Context, key string) (bool, error) {
			all := <-counts
			all[key]++
			n := all[key]
			counts <- all
			return n <= l.Capacity, nil
		}}, nil
	}}
}

// TestHalfLoad: the trial finds a capacity that has room for all requests, and
// every slot of the window is charged before.
func TestHalfLoad(t *testing.T) {
	var filled []int64
	s := Subject{Name: "slow", Open: func(_ context.Context, l Limit) (*Limiter, error) {
		return &Limiter{
			Decide: func(context.Context, string) (bool, error) {
				time.Sleep(time.Millisecond)
				return l.Capacity > 10_000, nil // a minute has fewer than 60,000 of them
			},
			Fill: func(_ context.Context, _ string, units int64) error {
				filled = append(filled, units*int64(l.Slots)*2-l.Capacity)
				return nil
			},
		}, nil
	}}
	c := Case{Factor: 0.5, Window: time.Minute, Slots: 60, Turn: 20 * time.Millisecond, Rounds: 1, Subjects: []Subject{s}}
	results, err := Compare(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Allowed != 1 {
		t.Errorf("%.2f allowed", results[0].Allowed)
	}
	for _, off := range filled {
		if off < -120 || off > 120 { // less than a unit a slot
			t.Errorf("filled with %d units too many", off)
		}
	}
}

// TestPaced: a stall counts for every request that it delays.
func TestPaced(t *testing.T) {
	stalled := false
	s := Subject{Name: "stall", Open: func(context.Context, Limit) (*Limiter, error) {
		return &Limiter{Decide: func(context.Context, string) (bool, error) {
			if !stalled {
				stalled = true
				time.Sleep(100 * time.Millisecond)
			}
			return true, nil
		}}, nil
	}}
	c := Case{Rate: 1000, Window: time.Minute, Turn: 150 * time.Millisecond, Rounds: 1, Subjects: []Subject{s}}
	results, err := Compare(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].P50 < float64(10*time.Millisecond) {
		t.Errorf("p50 %v after a stall of 100 ms", time.Duration(results[0].P50))
	}
}

// TestFailures: a subject that sometimes fails has a result; one that always
// fails has none, and leaves the others theirs.
func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	failing := func(name string, every int) Subject {
		n := 0
		return Subject{Name: name, Open: func(context.Context, Limit) (*Limiter, error) {
			return &Limiter{Decide: func(context.Context, string) (bool, error) {
				if n++; n%every == 0 {
					return false, broken
				}
				return true, nil
			}}, nil
		}}
	}
	c := Case{Window: time.Minute, Turn: time.Millisecond, Rounds: 2, Sample: 2, Subjects: []Subject{counting(), failing("some", 2), failing("all", 1)}}
	results, err := Compare(t.Context(), &c)
	if !errors.Is(err, broken) || len(results) != 2 || results[1].Failed != 0.5 {
		t.Errorf("error %v, results %+v", err, results)
	}
	c.Subjects = []Subject{failing("bare", 1), counting()}
	if results, err := Compare(t.Context(), &c); !errors.Is(err, broken) || len(results) > 0 {
		t.Errorf("without the bare operation: error %v, results %+v", err, results)
	}
}

func TestKeys(t *testing.T) {
	if got := keys("k", 1, false); !slices.Equal(got, []string{"k0"}) {
		t.Errorf("one key: %v", got)
	}
	uniform := keys("k", 1000, true)
	slices.Sort(uniform)
	if n := len(slices.Compact(uniform)); n != 1000 {
		t.Errorf("%d keys of 1000", n)
	}
	zipf, counts := keys("k", 1000, false), map[string]float64{}
	for _, key := range zipf {
		counts[key]++
	}
	if share, want := counts["k0"]/float64(len(zipf)), busiest(1000); math.Abs(share-want) > 0.01 {
		t.Errorf("the busiest key has %.3f of the requests, want %.3f", share, want)
	}
}
