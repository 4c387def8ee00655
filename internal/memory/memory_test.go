package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

func TestAllOrNone(t *testing.T) {
	limits := []limit.Limit{
		{Name: "a", Capacity: 5, Window: time.Minute, Granularity: time.Second},
		{Name: "b", Algorithm: limit.FixedWindow, Capacity: 3, Window: time.Minute, Granularity: time.Minute},
	}
	store, ctx := memory.New(0), context.Background()
	for _, step := range []struct {
		costs     [2]int64
		allowed   bool
		remaining [2]int64
		retry     time.Duration
	}{
		{[2]int64{1, 2}, true, [2]int64{4, 1}, 0},
		{[2]int64{1, 2}, false, [2]int64{4, 1}, time.Minute},
		{[2]int64{5, 0}, false, [2]int64{4, 1}, 61 * time.Second},
		{[2]int64{5, 2}, false, [2]int64{4, 1}, 61 * time.Second},
		{[2]int64{4, 1}, true, [2]int64{0, 0}, 0},
	} {
		var v limit.Verdict
		must(t, store.Charge(ctx, epoch, charge("k", limits, step.costs[:]...), &v))
		if v.Allowed != step.allowed || v.RetryAfter != step.retry || [2]int64{v.Limits[0].Remaining, v.Limits[1].Remaining} != step.remaining {
			t.Errorf("costs %v: got %+v, want %+v", step.costs, v, step)
		}
	}
}

func TestSettle(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	c := charge("k", perMinute, 10)
	var v limit.Verdict
	must(t, store.Charge(ctx, epoch, c, &v))
	must(t, store.Settle(ctx, epoch, c, &v.Receipt, []int64{-4}))
	left := func() int64 {
		var v limit.Verdict
		must(t, store.Peek(ctx, epoch, c, &v))
		return v.Remaining
	}
	if got := left(); got != 94 {
		t.Errorf("%d left after 10 charged and 4 given back, want 94", got)
	}
	must(t, store.Settle(ctx, epoch, c, &v.Receipt, []int64{200}))
	if got := left(); got != 0 {
		t.Errorf("%d left after 200 more than the capacity allows, want 0", got)
	}
	must(t, store.Reset(ctx, "k"))
	must(t, store.Charge(ctx, epoch, c, &limit.Verdict{}))
	must(t, store.Settle(ctx, epoch, c, &v.Receipt, []int64{-4}))
	if got := left(); got != 90 {
		t.Errorf("%d left, want 90: a receipt of the counter before the reset gave units back", got)
	}
}

func TestDeniesChargesNothing(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	c := charge("k", perMinute, 100)
	var v limit.Verdict
	if store.Denies(epoch, c, &v) {
		t.Error("denied on a key never charged")
	}
	must(t, store.Charge(ctx, epoch, c, &v))
	if !v.Allowed {
		t.Error("asking had charged")
	}
	if !store.Denies(epoch, c, &v) || v.RetryAfter != 61*time.Second {
		t.Errorf("full, but %+v", v)
	}
}

// TestBound fills a store with live keys: they stay, new ones are refused, and room is made as soon as they expire.
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
		t.Fatalf("%d keys held, the bound is %d", len(held), keys)
	}
	for _, key := range held {
		var v limit.Verdict
		must(t, store.Charge(ctx, epoch.Add(60*time.Second), charge(key, perMinute, 60), &v))
		if v.Allowed {
			t.Fatalf("%s was forgotten while it was live", key)
		}
	}
	if err := store.Charge(ctx, epoch, charge("new", perMinute, 0), &limit.Verdict{}); err != nil {
		t.Errorf("a charge of nothing needs no room: %v", err)
	}
	later := epoch.Add(62 * time.Second) // a second after the last nanosecond in which slot 0 counts
	for i := range keys {
		must(t, store.Charge(ctx, later, charge(fmt.Sprint("new-", i, held[i]), perMinute, 1), &limit.Verdict{}))
		if i == keys/8 {
			break // shards fill unevenly: well under the bound there is room in each
		}
	}
}

// TestLinger sends a late line of a log: while there is room a counter outlives its window.
func TestLinger(t *testing.T) {
	store, ctx := memory.New(0), context.Background()
	var v limit.Verdict
	must(t, store.Charge(ctx, epoch, charge("k", perMinute, 100), &v))
	for i := range 1000 {
		must(t, store.Charge(ctx, epoch.Add(30*time.Minute), charge(fmt.Sprint(i), perMinute, 1), &v))
	}
	if must(t, store.Charge(ctx, epoch.Add(time.Second), charge("k", perMinute, 1), &v)); v.Allowed {
		t.Error("a late request was admitted to a window that was full")
	}
}

// TestModel charges a few keys of a small store at random and holds each answer against the step itself.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	store, ctx := memory.New(0), context.Background()
	model := map[string]*limit.State{}
	now := epoch
	for i := range 20_000 {
		now = now.Add(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
		key, cost := fmt.Sprint(r.IntN(20)), r.Int64N(4)
		if model[key] == nil {
			model[key] = &limit.State{}
		}
		want := model[key].Judge(&perMinute[0], now, cost)
		if want.Allowed {
			want = model[key].Take(&perMinute[0], now, cost)
		}
		var v limit.Verdict
		must(t, store.Charge(ctx, now, charge(key, perMinute, cost), &v))
		if v.Result != want {
			t.Fatalf("charge %d of key %s: got %+v, want %+v", i, key, v.Result, want)
		}
	}
}

// TestConcurrent is the promise in one sentence: 150 requests at once on a limit of 100, exactly 100 allowed.
func TestConcurrent(t *testing.T) {
	for range 20 {
		store := memory.New(0)
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for client := range 8 {
			wg.Go(func() {
				for i := client; i < 150; i += 8 {
					var v limit.Verdict
					if err := store.Charge(context.Background(), epoch, charge("k", perMinute, 1), &v); err != nil {
						t.Error(err)
					}
					if v.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if got := allowed.Load(); got != 100 {
			t.Fatalf("%d of 150 allowed, want exactly 100", got)
		}
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

// TestClockAhead charges one key by a clock two hours ahead: callers whose clocks are right keep their counters.
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
