package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
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
			each := writesPerCharge(t, test.limit, test.processes, load)
			what := fmt.Sprintf("%s, %d processes, load %.1f: %.3f writes for a charge", test.name, test.processes, load, each)
			t.Log(what)
			if each > most {
				t.Errorf("%s, want at most %.2f", what, most)
			}
		}
	}
}

// writesPerCharge sends 1,000 charges of 1 unit, at random times and by random
// processes.
func writesPerCharge(t *testing.T, l limit.Limit, processes int, load float64) float64 {
	table, stores := dynamomodel.New("counters", "k"), []*dynamo.Store{}
	for range processes {
		stores = append(stores, dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }}))
	}
	const charges = 1000
	random, now := rand.New(rand.NewPCG(1, 1)), epoch
	between := float64(l.Window) / float64(l.Capacity) / load
	for range charges {
		now = now.Add(time.Duration(random.ExpFloat64() * between))
		c := &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{1}}
		if err := stores[random.IntN(processes)].Charge(t.Context(), now, c, &limit.Verdict{}); err != nil {
			t.Fatal(err)
		}
	}
	var all int64
	for _, store := range stores {
		_, writes := dynamo.Calls(store)
		all += writes
	}
	return float64(all) / charges
}
