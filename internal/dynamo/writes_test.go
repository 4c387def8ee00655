package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestWritesPerCharge makes charges at random times, and bounds the writes for
// each. Processes that share nothing need a second write for a bucket only if
// the bucket was full by their snapshot and is not, or the reverse.
func TestWritesPerCharge(t *testing.T) {
	window := limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 100, Window: time.Minute, Burst: 100}
	for _, test := range []struct {
		name      string
		limit     limit.Limit
		processes int
		most      map[float64]float64 // by load: writes for a charge
	}{
		{"window", window, 1, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.39}},
		{"window", window, 16, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.48}},
		{"bucket", bucket, 1, map[float64]float64{0.1: 1, 0.5: 1, 0.9: 1, 3: 0.45}},
		{"bucket", bucket, 2, map[float64]float64{0.1: 1.08, 0.5: 1.25, 0.9: 1.2, 3: 0.65}},
		{"bucket", bucket, 16, map[float64]float64{0.1: 1.15, 0.5: 1.5, 0.9: 1.75, 3: 1.05}},
	} {
		for load, most := range test.most {
			w := newWorld(t, 1, 1)
			w.limit = test.limit
			random, now, writes := rand.New(rand.NewPCG(1, 1)), epoch, int64(0)
			const charges = 1000
			for range charges {
				now = now.Add(time.Duration(random.ExpFloat64() / load * 0.6 * float64(time.Second)))
				if err := w.caller(fmt.Sprint(random.IntN(test.processes))).Charge(t.Context(), now, w.charge(1), &limit.Verdict{}); err != nil {
					t.Fatal(err)
				}
			}
			for name := range w.callers {
				_, n := w.calls(name)
				writes += n
			}
			each := float64(writes) / charges
			what := fmt.Sprintf("%s, %d processes, load %.1f: %.3f writes for a charge", test.name, test.processes, load, each)
			t.Log(what)
			if each > most {
				t.Errorf("%s, want at most %.2f", what, most)
			}
		}
	}
}
