package memory_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

var (
	epoch     = time.Unix(1_700_000_040, 0)
	perMinute = []limit.Limit{{Capacity: 100, Window: time.Minute, Granularity: time.Second}}
)

func charge(key string, limits []limit.Limit, costs ...int64) *limit.Charge {
	return &limit.Charge{Key: key, Limits: limits, Costs: costs}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestChargeDoesNotAllocate(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	c, now := charge("k", perMinute, 1), epoch
	for range 200 { // use every slot once
		now = now.Add(time.Second)
		must(t, store.Charge(ctx, now, c, &limit.Verdict{}))
	}
	var v limit.Verdict
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(300 * time.Millisecond)
		_ = store.Charge(ctx, now, c, &v)
	}); n != 0 {
		t.Errorf("%v allocations per charge", n)
	}
}

// TestChargeAllInAnyOrder charges the same keys in different orders
// concurrently. No caller deadlocks.
func TestChargeAllInAnyOrder(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() {
			for range 500 {
				var cs []*limit.Charge
				var vs []*limit.Verdict
				for i := range 8 {
					cs = append(cs, charge(fmt.Sprint((i+client)%8), perMinute, 1))
					vs = append(vs, &limit.Verdict{})
				}
				if err := store.ChargeAll(ctx, epoch, cs, vs); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		var v limit.Verdict
		if must(t, store.Peek(ctx, epoch, charge(fmt.Sprint(i), perMinute, 1), &v)); v.Remaining != 0 {
			t.Errorf("key %d has %d left of 100, charged 4,000 times", i, v.Remaining)
		}
	}
}

// TestOtherLimits uses a key with another number of limits. Every call fails.
func TestOtherLimits(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	one := charge("k", perMinute, 1)
	one.Hold = limit.Opening{ID: 1, For: time.Second, Most: 1}
	two := &limit.Charge{Key: "k", Limits: append(one.Limits, one.Limits...), Costs: []int64{1, 1}, Hold: one.Hold}
	var v limit.Verdict
	must(t, store.Charge(ctx, epoch, one, &v))
	used := v // a verdict may be reused
	for call, err := range map[string]error{
		"Charge":    store.Charge(ctx, epoch, two, &used),
		"ChargeAll": store.ChargeAll(ctx, epoch, []*limit.Charge{two}, []*limit.Verdict{{}}),
		"Peek":      store.Peek(ctx, epoch, two, &limit.Verdict{}),
		"Settle":    store.Settle(ctx, epoch, two, &v.Receipt, []int64{1, 1}),
		"Renew":     store.Renew(ctx, epoch, two, &v.Receipt),
	} {
		if err == nil {
			t.Errorf("%s accepts another number of limits", call)
		}
	}
}

// TestNothingTaken: a charge that takes nothing and finds no room for its hold
// needs no counter.
func TestNothingTaken(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	c := charge("k", perMinute, 0)
	c.Hold = limit.Opening{ID: 1, For: time.Second} // Most is 0
	must(t, store.Charge(ctx, epoch, c, &limit.Verdict{}))
	must(t, store.ChargeAll(ctx, epoch, []*limit.Charge{c}, []*limit.Verdict{{}}))
	if n := store.Len(); n != 0 {
		t.Errorf("%d counters", n)
	}
}

var wide = flag.Bool("wide", false, "make more random calls, as make test-wide does")

func TestConformance(t *testing.T) {
	rounds, histories := 3, 60
	if *wide {
		rounds, histories = 10, 200
	}
	storetest.Run(t, func(*testing.T) storetest.Harness {
		store := memory.New(0)
		return storetest.Harness{Client: func(testing.TB) limit.Store { return store }, Rounds: rounds, Histories: histories}
	})
}

// TestSequential: the same charges get the same verdicts from each store, also
// if clocks go back by weeks and the store is full at times.
func TestSequential(t *testing.T) {
	verdicts := func() (allowed []bool) {
		store, ctx := memory.NewSequential(300), context.Background()
		for week := range 4 {
			for i := range 2000 {
				at := epoch.Add(time.Duration(-week)*7*24*time.Hour + time.Duration(i)*20*time.Second)
				var v limit.Verdict
				err := store.Charge(ctx, at, charge(fmt.Sprint("key-", i*i%701), perMinute, 40), &v)
				allowed = append(allowed, err == nil && v.Allowed)
			}
		}
		return allowed
	}
	first := verdicts()
	if !slices.Contains(first, false) || !slices.Contains(first, true) {
		t.Error("the charges do not differ")
	}
	for range 3 {
		if !slices.Equal(verdicts(), first) {
			t.Fatal("another store has other verdicts")
		}
	}
}

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
			limit.Apply(kept[key], nil, c, at, &want)
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
