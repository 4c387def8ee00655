package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
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
