package slidegate_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/slidegatetest"
)

// TestWait is a trace of waits one after the other on one key: how long each
// blocks. The bubble's time begins at midnight.
func TestWait(t *testing.T) {
	type wait struct {
		n     int64
		takes time.Duration
	}
	for _, test := range []struct {
		name  string
		limit slidegate.Limit
		waits []wait
	}{
		{"a window", slidegate.FixedWindow(2, time.Minute), []wait{{1, 0}, {1, 0}, {1, time.Minute}, {2, time.Minute}, {0, 0}}},
		{"a sliding window", slidegate.SlidingWindow(2, time.Minute), []wait{{2, 0}, {1, 61 * time.Second}, {1, 0}, {2, 61 * time.Second}}},
		{"a log", slidegate.SlidingLog(2, time.Minute), []wait{{1, 0}, {1, 0}, {1, time.Minute}, {1, 0}, {2, time.Minute}}},
		{"a token bucket", slidegate.TokenBucket(10, time.Second, 2), []wait{{2, 0}, {1, 100 * time.Millisecond}, {2, 200 * time.Millisecond}}},
		{"a leaky bucket sends its requests evenly", slidegate.LeakyBucket(10, time.Second, 2),
			[]wait{{1, 0}, {1, 100 * time.Millisecond}, {1, 100 * time.Millisecond}, {2, 100 * time.Millisecond}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := newLimiter(t, test.limit)
				for i, w := range test.waits {
					start := time.Now()
					if err := lim.WaitN(t.Context(), "k", w.n); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); took != w.takes {
						t.Errorf("wait %d for %d units took %v; want %v", i+1, w.n, took, w.takes)
					}
				}
			})
		})
	}
}

// TestWaitQueue: of eight that wait at once on a leaky bucket with room for
// three, each leaves at its turn.
func TestWaitQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.LeakyBucket(10, time.Second, 3))
		start := time.Now()
		var mu sync.Mutex
		var left []time.Duration
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := lim.Wait(t.Context(), "k"); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				left = append(left, time.Since(start))
			})
		}
		wg.Wait()
		for i, at := range slices.Sorted(slices.Values(left)) {
			if want := time.Duration(i) * 100 * time.Millisecond; at != want {
				t.Errorf("request %d left after %v; want %v", i+1, at, want)
			}
		}
	})
}

// TestWaitFails: a wait that cannot succeed fails at once, and one whose context
// is cancelled fails then. Neither charges a window.
func TestWaitFails(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	minute := slidegate.FixedWindow(2, time.Minute)
	for _, test := range []struct {
		name   string
		limit  slidegate.Limit
		taken  int64 // before
		n      int64
		within time.Duration // until the context ends
		ctx    context.Context
		want   error
		text   string
		takes  time.Duration
		left   int64
	}{
		{"more units than the limit holds", minute, 0, 3, time.Hour, nil, slidegate.ErrNever,
			"slidegate: limiter default: the request costs more than the limit can ever allow", 0, 2},
		{"the context ends too early", minute, 2, 1, 59 * time.Second, nil, context.DeadlineExceeded,
			"slidegate: limiter default: the next turn is in 1m0s: context deadline exceeded", 0, 0},
		{"the context has ended", minute, 0, 1, -time.Second, nil, context.DeadlineExceeded,
			"slidegate: limiter default: context deadline exceeded", 0, 2},
		{"the context was cancelled", minute, 0, 1, 0, cancelled, context.Canceled, "slidegate: limiter default: context canceled", 0, 2},
		{"the turn of a leaky bucket comes too late, and passes unused", slidegate.LeakyBucket(1, time.Second, 2), 1, 1, 999 * time.Millisecond, nil,
			context.DeadlineExceeded, "slidegate: limiter default: the next turn is in 1s: context deadline exceeded", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim := newLimiter(t, test.limit)
				if _, err := lim.AllowN(t.Context(), "k", test.taken); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				if test.ctx != nil {
					ctx = test.ctx
				}
				start := time.Now()
				err := lim.WaitN(ctx, "k", test.n)
				if !errors.Is(err, test.want) || err.Error() != test.text || time.Since(start) != test.takes {
					t.Errorf("after %v: %v; want %s", time.Since(start), err, test.text)
				}
				if r, err := lim.Peek(t.Context(), "k"); err != nil || r.Remaining != test.left {
					t.Errorf("%+v left, %v; want %d", r.Remaining, err, test.left)
				}
			})
		})
	}

	t.Run("the context is cancelled meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			lim := newLimiter(t, minute)
			_, _ = lim.AllowN(t.Context(), "k", 2)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			if err := lim.Wait(ctx, "k"); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
}

// TestWaitThroughFailures: a wait asks again each second under FailClosed, and
// returns the store's error under FailError.
func TestWaitThroughFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail, count := slidegatetest.Fail(errDown), slidegatetest.Count()
		lim := newLimiter(t, slidegate.FixedWindow(2, time.Minute), named, quiet, withStore(fail, fail, count),
			slidegate.FailClosed())
		start := time.Now()
		if err := lim.Wait(t.Context(), "k"); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("FailClosed: after %v: %v", time.Since(start), err)
		}
		lim = newLimiter(t, slidegate.FixedWindow(2, time.Minute), named, quiet, withStore(fail), slidegate.FailError())
		if err := lim.Wait(t.Context(), "k"); !errors.Is(err, errDown) {
			t.Errorf("FailError: %v", err)
		}
	})
}
