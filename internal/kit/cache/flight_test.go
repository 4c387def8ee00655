package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/limit"
)

// born is the start of the clock of every bubble.
var born = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestOneLoadInFlight: a thousand requests for a new key cause one load, and a
// thousand for an old key too. So does a failure, which later requests do not
// get.
func TestOneLoadInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, o := newCache(0)
		o.put("k", 5)
		for round, step := range []struct {
			at  time.Duration
			err error
		}{{0, errDown}, {0, nil}, {time.Minute, nil}, {time.Hour, nil}} {
			gate := make(chan struct{})
			o.set(step.err, gate)
			var wg sync.WaitGroup
			for i := range 1000 {
				wg.Go(func() { // requests side by side pass different times
					got, err := cache.Get(t.Context(), epoch.Add(step.at+time.Duration(i)*time.Millisecond), "k")
					if !errors.Is(err, step.err) || err == nil && got != 5 {
						t.Errorf("round %d: %d, error %v", round, got, err)
					}
				})
			}
			synctest.Wait()
			close(gate)
			wg.Wait()
			if n := o.taken(); n != 1 {
				t.Errorf("%d loads in round %d, want 1", n, round)
			}
		}
		if errs := o.reported(); len(errs) != 0 {
			t.Errorf("reported %v, which requests got as their error", errs)
		}
	})
}

// TestLandedLoad: a request that found no value just before a load ended does
// not load again.
func TestLandedLoad(t *testing.T) {
	cache, o := newCache(0)
	for i := range 2000 {
		key := name(fmt.Sprint("k", i))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := cache.Get(t.Context(), epoch, key); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := o.taken(); n != 1 {
			t.Fatalf("%d loads of %s", n, key)
		}
	}
}

// TestSlowReload: the request that starts a reload waits for 100 ms, and all
// others not at all. The cache takes the answer when it comes. A reload that
// fails is repeated by a request a second after its start, or once it has failed.
func TestSlowReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, o := newCache(0)
		o.put("k", 5)
		expectValue := func(want int, took time.Duration, loads int) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // the load goes on
			start := time.Now()
			got, err := cache.Get(ctx, epoch.Add(time.Since(born)), "k")
			if n := o.taken(); err != nil || got != want || time.Since(start) != took || n != loads {
				t.Errorf("%d, error %v after %v and %d loads; want %d after %v and %d", got, err, time.Since(start), n, want, took, loads)
			}
		}
		expectValue(5, 0, 1)
		time.Sleep(10 * time.Second)
		gate := make(chan struct{})
		o.put("k", 6)
		o.set(nil, gate)
		expectValue(5, 100*time.Millisecond, 1)
		expectValue(5, 0, 0)
		close(gate)
		time.Sleep(time.Millisecond)
		expectValue(6, 0, 0)

		time.Sleep(10 * time.Second)
		o.set(nil, make(chan struct{})) // for good
		expectValue(6, 100*time.Millisecond, 1)
		time.Sleep(4 * time.Second)
		expectValue(6, 0, 0)
		time.Sleep(time.Second)
		if errs := o.reported(); len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) {
			t.Errorf("reported %v, want one timeout", errs)
		}
		o.set(nil, nil)
		o.put("k", 7)
		expectValue(7, 0, 1)
	})
}

// TestBurstAfterPause: after a pause all requests wait for the reload, for at most
// 100 ms after its start. A burst gets no value that ended long ago.
func TestBurstAfterPause(t *testing.T) {
	for _, step := range []struct {
		name               string
		idle, load, wanted time.Duration // wanted is how long the burst waits
		old                int           // of 64 requests that get the old value
	}{
		{"steady load", 10 * time.Second, 50 * time.Millisecond, 50 * time.Millisecond, 63},
		{"a pause", 11 * time.Second, 50 * time.Millisecond, 50 * time.Millisecond, 0},
		{"a long pause", time.Hour, 50 * time.Millisecond, 50 * time.Millisecond, 0},
		{"a pause, and a slow origin", time.Hour, time.Second, 100 * time.Millisecond, 64},
	} {
		t.Run(step.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cache, o := newCache(0)
				get := func() int {
					got, err := cache.Get(t.Context(), epoch.Add(time.Since(born)), "k")
					if err != nil {
						t.Error(err)
					}
					return got
				}
				get()
				time.Sleep(step.idle)
				gate := make(chan struct{})
				o.put("k", 6)
				o.set(nil, gate)
				time.AfterFunc(step.load, func() { close(gate) })
				var old atomic.Int64
				var wg sync.WaitGroup
				began := time.Now()
				for range 64 {
					wg.Go(func() {
						if get() == 0 {
							old.Add(1)
						}
					})
				}
				wg.Wait()
				if took := time.Since(began); old.Load() != int64(step.old) || took != step.wanted {
					t.Errorf("%d requests got the old value within %v, want %d within %v", old.Load(), took, step.old, step.wanted)
				}
				began = time.Now()
				if get(); time.Since(began) != 0 { // also while a slow load goes on
					t.Errorf("a later request waits %v", time.Since(began))
				}
				time.Sleep(step.load)
			})
		})
	}
}

// TestFirstTimeout: requests wait for a first value that does not come until
// the load times out, and each of them starts a new load.
func TestFirstTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, o := newCache(0)
		o.set(nil, make(chan struct{}))
		for range 3 {
			start := time.Now()
			_, err := cache.Get(t.Context(), epoch, "k")
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
				t.Errorf("error %v after %v, want a timeout after 3 s", err, took)
			}
		}
		if n := o.taken(); n != 3 {
			t.Errorf("%d loads, want 3", n)
		}
	})
}

// TestTimeoutIsTheLimitersOwn: the context of a load that times out says that the
// limiter's own deadline has passed, for a first load and for a reload. Otherwise
// a breaker takes it for a caller who gave up, and never opens.
func TestTimeoutIsTheLimitersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs bool
		causes := make(chan error, 2)
		cache := cache.NewReloaded(cache.Options[name, int]{FirstTimeout: time.Second, Timeout: time.Second, Load: func(ctx context.Context, _ time.Time, _ name, _ int) (int, error) {
			if !hangs {
				return 1, nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return 0, ctx.Err()
		}})
		_, _ = cache.Get(t.Context(), epoch, "reloaded")
		hangs = true
		_, _ = cache.Get(t.Context(), epoch.Add(time.Minute), "reloaded")
		_, _ = cache.Get(t.Context(), epoch, "first")
		for range cap(causes) {
			if cause := <-causes; !errors.Is(cause, limit.ErrDeadline) {
				t.Errorf("the context ended by %v, want %v", cause, limit.ErrDeadline)
			}
		}
	})
}

// TestGivingUp: a request that cannot wait returns at once and says why, even
// the one that started the load; the others get the value by the same load.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, o := newCache(0)
		o.put("k", 5)
		gate, hungUp := make(chan struct{}), errors.New("the caller hung up")
		o.set(nil, gate)
		start, leave := context.WithCancelCause(t.Context())
		bounded, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		began := time.Now()
		var wg sync.WaitGroup
		expect := func(ctx context.Context, after time.Duration, want int, cause error) {
			wg.Go(func() {
				got, err := cache.Get(ctx, epoch, "k")
				if got != want || !errors.Is(err, cause) || time.Since(began) != after {
					t.Errorf("%d, error %v after %v; want %d, %v after %v", got, err, time.Since(began), want, cause, after)
				}
				if err != nil && !strings.Contains(err.Error(), "value k: waiting") {
					t.Errorf("error %v does not say what the request waited for", err)
				}
			})
			synctest.Wait() // the first one starts the load
		}
		expect(start, 100*time.Millisecond, 0, hungUp)
		expect(bounded, 250*time.Millisecond, 0, context.DeadlineExceeded)
		expect(t.Context(), time.Second, 5, nil)
		time.Sleep(100 * time.Millisecond)
		leave(hungUp)
		time.Sleep(900 * time.Millisecond)
		close(gate)
		wg.Wait()
		if n := o.taken(); n != 1 {
			t.Errorf("%d loads, want 1", n)
		}
		if got, err := cache.Get(start, epoch, "k"); got != 5 || err != nil {
			t.Errorf("%d, error %v: a fresh value needs no wait", got, err)
		}

		o.set(nil, make(chan struct{}))
		began = time.Now()
		if got, err := cache.Get(start, epoch.Add(time.Minute), "k"); got != 5 || err != nil || time.Since(began) != 0 {
			t.Errorf("a cancelled request waits %v: %d, error %v", time.Since(began), got, err)
		}
		time.Sleep(5 * time.Second)
	})
}

// TestMaxFirst: a first load beyond the bound waits for a place, and then has all
// its time. A reload needs none.
func TestMaxFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.NewReloaded(cache.Options[name, int]{
			FirstTimeout: 3 * time.Second, Timeout: 3 * time.Second, MaxFirst: 1,
			Load: func(ctx context.Context, now time.Time, key name, _ int) (int, error) {
				if key == "known" {
					return int(now.Sub(epoch).Hours()), nil
				}
				select {
				case <-time.After(2 * time.Second):
					return 1, nil
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
			},
		})
		get := func(at time.Duration, key name, want int, took time.Duration, fails bool) {
			t.Helper()
			start := time.Now()
			if got, err := c.Get(t.Context(), epoch.Add(at), key); got != want || (err != nil) != fails || time.Since(start) != took {
				t.Errorf("%s: %d, error %v, after %v; want %d after %v", key, got, err, time.Since(start), want, took)
			}
		}
		get(0, "known", 0, 0, false)
		var all sync.WaitGroup
		for i, key := range []name{"first", "second", "third"} {
			all.Go(func() {
				if key == "third" {
					get(0, key, 0, 3*time.Second, true)
					return
				}
				get(0, key, 1, time.Duration(2*i+2)*time.Second, false)
			})
			synctest.Wait()
		}
		get(time.Hour, "known", 1, 0, false)
		all.Wait()
	})
}
