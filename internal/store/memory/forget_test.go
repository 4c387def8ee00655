package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// TestForgetsNothing compares a store that has hardly any room with states that
// are kept forever. As long as callers' clocks differ by a second at most, the
// store decides likewise, or has no room.
func TestForgetsNothing(t *testing.T) {
	const window = 3 * time.Second
	every := []limit.Limit{
		{Capacity: 3, Window: window, Granularity: time.Second},
		{Capacity: 3, Window: window, Granularity: window},
		{Algorithm: limit.FixedWindow, Capacity: 3, Window: window, Granularity: window},
		{Algorithm: limit.SlidingWindowCounter, Capacity: 3, Window: window, Granularity: window},
		{Algorithm: limit.SlidingWindowLog, Capacity: 3, Window: window, Granularity: limit.Exact},
		{Algorithm: limit.TokenBucket, Capacity: 3, Window: window, Burst: 5},
		{Algorithm: limit.LeakyBucket, Capacity: 3, Window: window, Burst: 5},
	}
	full, decided := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		store, ctx, now := memory.NewSequential(2), context.Background(), epoch
		kept, limits := map[string][]limit.State{}, map[string][]limit.Limit{}
		for range rapid.IntRange(1, 60).Draw(t, "charges") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "step")))
			at := now.Add(-time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "behind")))
			key := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "key"))
			if kept[key] == nil {
				limits[key] = rapid.SliceOfN(rapid.SampledFrom(every), 1, 2).Draw(t, "limits")
				kept[key] = make([]limit.State, len(limits[key]))
			}
			c := &limit.Charge{Key: key, Limits: limits[key]}
			for range c.Limits {
				c.Costs = append(c.Costs, rapid.Int64Range(0, 3).Draw(t, "cost"))
			}
			var got, want limit.Verdict
			if err := store.Charge(ctx, at, c, &got); errors.Is(err, memory.ErrFull) {
				full++
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			decided++
			limit.Apply(kept[key], c, at, &want)
			got.Receipt = want.Receipt
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("key %s at %v, %v behind (-kept +store):\n%s", key, at.Sub(epoch), now.Sub(at), diff)
			}
		}
	})
	if full < 50 || decided < 100 {
		t.Errorf("%d charges without room and %d decided, want 50 and 100 at least", full, decided)
	}
}
