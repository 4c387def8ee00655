package slidegate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
)

// TestAllocations: a decision on a known key in a limiter's own Memory allocates
// nothing, whatever it is. The race detector drops a quarter of what goes into a
// pool, which AllocsPerRun rounds down to nothing.
func TestAllocations(t *testing.T) {
	clock, withClock := stopped()
	clock.Set(noon)
	ctx := t.Context()
	roomy := newLimiter(t, slidegate.SlidingWindow(1_000_000, time.Minute), withClock)
	full := newLimiter(t, slidegate.SlidingWindow(1, time.Minute), withClock)
	bucket := newLimiter(t, slidegate.TokenBucket(1_000_000, time.Second, 0)) // by the machine's clock
	for name, call := range map[string]func() error{
		"allowed":         func() error { _, err := roomy.Allow(ctx, "k"); return err },
		"several units":   func() error { _, err := roomy.AllowN(ctx, "k", 3); return err },
		"at a given time": func() error { _, err := roomy.AllowAt(ctx, noon, "k", 3); return err },
		"denied":          func() error { _, err := full.Allow(ctx, "k"); return err },
		"peek":            func() error { _, err := full.Peek(ctx, "k"); return err },
		"wait":            func() error { return roomy.Wait(ctx, "k") },
		"bucket":          func() error { _, err := bucket.Allow(ctx, "k"); return err },
	} {
		if n := testing.AllocsPerRun(1000, func() {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestConcurrent charges a key from many goroutines: exactly the units of the
// limit pass.
func TestConcurrent(t *testing.T) {
	var observed atomic.Int64
	lim := newLimiter(t, slidegate.SlidingWindow(1000, time.Hour), slidegate.WithClock(func() time.Time { return noon }),
		slidegate.WithObserver(observer(func(slidegate.Event) { observed.Add(1) })))
	var allowed [3]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 450 {
				key := i % len(allowed)
				r, err := lim.AllowN(t.Context(), fmt.Sprint(key), int64(key+1))
				if err != nil {
					t.Error(err)
				}
				if r.Allowed {
					allowed[key].Add(int64(key + 1))
				}
				if _, err := lim.Peek(t.Context(), "0"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for key, want := range []int64{1000, 1000, 999} {
		if got := allowed[key].Load(); got != want {
			t.Errorf("key %d: %d units allowed; want %d", key, got, want)
		}
	}
	if got := observed.Load(); got != 8*450 {
		t.Errorf("%d events; want %d", got, 8*450)
	}
}
