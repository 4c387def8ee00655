package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
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

// TestBound fills a store with live keys. They stay, and new ones are refused.
func TestBound(t *testing.T) {
	const keys = 64 * 4
	store, ctx := memory.New(keys), context.Background()
	var held []string
	for i := range 10 * keys {
		key := fmt.Sprint("key-", i)
		switch err := store.Charge(ctx, epoch, charge(key, perMinute, 60), &limit.Verdict{}); {
		case err == nil:
			held = append(held, key)
		case !errors.Is(err, memory.ErrFull):
			t.Fatal(err)
		}
	}
	if len(held) != keys {
		t.Fatalf("%d keys, the bound is %d", len(held), keys)
	}
	for _, key := range held {
		var v limit.Verdict
		must(t, store.Charge(ctx, epoch.Add(60*time.Second), charge(key, perMinute, 60), &v))
		if v.Allowed {
			t.Fatalf("%s was dropped while it was live", key)
		}
	}
	if err := store.Charge(ctx, epoch, charge("new", perMinute, 0), &limit.Verdict{}); err != nil {
		t.Errorf("zero cost needs no room: %v", err)
	}
}

// TestLinger makes a request by a late clock. It still finds the counter, which
// outlives its window while there is room.
func TestLinger(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	var v limit.Verdict
	must(t, store.Charge(ctx, epoch, charge("k", perMinute, 100), &v))
	for i := range 1000 {
		must(t, store.Charge(ctx, epoch.Add(30*time.Minute), charge(fmt.Sprint(i), perMinute, 1), &v))
	}
	if must(t, store.Charge(ctx, epoch.Add(time.Second), charge("k", perMinute, 1), &v)); v.Allowed {
		t.Error("a late request was allowed in a full window")
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

// TestClockAhead charges one key by a clock two hours ahead. Callers whose
// clocks are right keep their counters.
func TestClockAhead(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	must(t, store.Charge(ctx, epoch.Add(2*time.Hour), charge("ahead", perMinute, 1), &limit.Verdict{}))
	var allowed int64
	for i := range 3000 {
		var v limit.Verdict
		now := epoch.Add(time.Duration(i) * time.Millisecond)
		must(t, store.Charge(ctx, now, charge("k", perMinute, 1), &v))
		must(t, store.Charge(ctx, now, charge(fmt.Sprint("other-", i), perMinute, 1), &limit.Verdict{}))
		if v.Allowed {
			allowed++
		}
	}
	if allowed != 100 {
		t.Errorf("%d allowed in three seconds, want 100: the counter was dropped while it was live", allowed)
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
	two := &limit.Charge{Key: "k", Limits: append(one.Limits, one.Limits...), Costs: []int64{1, 1}}
	var v limit.Verdict
	must(t, store.Charge(ctx, epoch, one, &v))
	used := v // a verdict may be reused
	for call, err := range map[string]error{
		"Charge":    store.Charge(ctx, epoch, two, &used),
		"ChargeAll": store.ChargeAll(ctx, epoch, []*limit.Charge{two}, []*limit.Verdict{{}}),
		"Peek":      store.Peek(ctx, epoch, two, &limit.Verdict{}),
		"Settle":    store.Settle(ctx, epoch, two, &v.Receipt, []int64{1, 1}),
	} {
		if err == nil {
			t.Errorf("%s accepts another number of limits", call)
		}
	}
}
