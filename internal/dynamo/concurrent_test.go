package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
)

// TestConcurrent makes 150 requests at once on a limit of 100. Exactly 100 are
// allowed, whether the eight clients share a process or not.
func TestConcurrent(t *testing.T) {
	perMinute := []limit.Limit{{Capacity: 100, Window: time.Minute, Granularity: time.Second}}
	engine, table := newTable(t)
	for run := range 20 {
		var stores []*dynamo.Store
		for range 1 + run%2*7 {
			stores = append(stores, dynamo.New(engine, table, dynamo.Options{Wall: time.Now}))
		}
		c := &limit.Charge{Key: fmt.Sprint("run-", run), Limits: perMinute, Costs: []int64{1}}
		allowed, contended := burst(t, stores, c)
		if allowed+contended < 100 || allowed > 100 {
			t.Errorf("run %d: %d allowed and %d undecided of 150, want exactly 100 allowed", run, allowed, contended)
		}
		if contended > 0 {
			t.Errorf("run %d: three attempts did not decide %d requests", run, contended)
		}
	}
}

func burst(t *testing.T, stores []*dynamo.Store, c *limit.Charge) (allowed, contended int64) {
	var yes, undecided atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := i; n < 150; n += 8 {
				var v limit.Verdict
				err := stores[i%len(stores)].Charge(context.Background(), epoch, c, &v)
				switch {
				case errors.Is(err, dynamo.ErrContended):
					undecided.Add(1)
				case err != nil:
					t.Error(err)
				case v.Allowed:
					yes.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return yes.Load(), undecided.Load()
}
