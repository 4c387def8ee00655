package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	limiter3 "github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate"
)

// Names of subjects that targets refer to.
const (
	bare  = "bare"
	ours  = "Slidegate"
	xRate = "x/time/rate"
)

// inMemory lists the limiters in memory, after the bare operation.
var inMemory = []subject{
	{bare, openMap},
	{ours, func(_ context.Context, q quota) (*limiter, error) {
		return library(slidegate.SlidingWindow(q.capacity, q.window))
	}},
	{"go-limiter", openGoLimiter},
	{"throttled", openThrottled},
	{"ulule/limiter", func(_ context.Context, q quota) (*limiter, error) { return ulule(ululememory.NewStore(), q), nil }},
	{"httprate", openHTTPRate},
	{xRate, openRate},
}

// openMap is the bare operation: the least that a limiter does. It reads the
// clock, and counts in a map behind a mutex.
func openMap(context.Context, quota) (*limiter, error) {
	var mu sync.Mutex
	counts, start := map[string]int64{}, time.Now()
	return &limiter{decide: func(_ context.Context, key string) (bool, error) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		counts[key]++
		return !now.Before(start), nil
	}}, nil
}

// strict makes a failure of a decision without the store.
var strict = slidegate.FailError()

// library opens a limiter as programs do.
func library(options ...slidegate.Option) (*limiter, error) {
	lim, err := slidegate.New(options...)
	if err != nil {
		return nil, err
	}
	return &limiter{decide: func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key)
		return r.Allowed, err
	}}, nil
}

// filling returns a function that charges each slot of a window by a limiter
// that takes the caller's time.
func filling(lim *slidegate.Limiter, window time.Duration) func(context.Context, string, int64) error {
	return func(ctx context.Context, key string, units int64) error {
		end := time.Now()
		for i := slots - 1; i >= 0; i-- {
			if _, err := lim.AllowAt(ctx, end.Add(-window*time.Duration(i)/slots), key, units); err != nil {
				return err
			}
		}
		return nil
	}
}

func openGoLimiter(_ context.Context, q quota) (*limiter, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(q.capacity), Interval: q.window})
	if err != nil {
		return nil, err
	}
	return &limiter{
		decide: func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok, err
		},
		close: func() { _ = store.Close(context.Background()) },
	}, nil
}

func openThrottled(_ context.Context, q quota) (*limiter, error) {
	store, _ := memstore.NewCtx(memoryKeys) // fails with a negative number
	return throttledBy(store, q)
}

// throttledBy has throttled allow the whole capacity at once, as the others do.
func throttledBy(store throttled.GCRAStoreCtx, q quota) (*limiter, error) {
	lim, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(q.capacity), q.window), MaxBurst: int(q.capacity) - 1,
	})
	return &limiter{decide: func(ctx context.Context, key string) (bool, error) {
		limited, _, err := lim.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}}, err
}

func ulule(store limiter3.Store, q quota) *limiter {
	lim := limiter3.New(store, limiter3.Rate{Period: q.window, Limit: q.capacity})
	return &limiter{decide: func(ctx context.Context, key string) (bool, error) {
		c, err := lim.Get(ctx, key)
		return err == nil && !c.Reached, err
	}}
}

// openHTTPRate uses httprate as its middleware does. It decides only with a
// request and a response, which here has no header fields.
func openHTTPRate(_ context.Context, q quota) (*limiter, error) {
	lim := httprate.NewRateLimiter(int(q.capacity), q.window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return &limiter{decide: func(_ context.Context, key string) (bool, error) {
		return !lim.OnLimit(nowhere{}, r, key), nil
	}}, nil
}

// nowhere is a response without fields.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

// openRate keeps a bucket for each key, as x/time/rate leaves to its users.
func openRate(_ context.Context, q quota) (*limiter, error) {
	var mu sync.Mutex
	limiters := map[string]*rate.Limiter{}
	return &limiter{decide: func(_ context.Context, key string) (bool, error) {
		mu.Lock()
		lim := limiters[key]
		if lim == nil {
			lim = rate.NewLimiter(rate.Limit(float64(q.capacity)/q.window.Seconds()), int(q.capacity))
			limiters[key] = lim
		}
		mu.Unlock()
		return lim.Allow(), nil
	}}, nil
}

// memoryKeys is how many keys the memory of a key is measured with.
const memoryKeys = 200_000

// sizes measures how much memory a key takes that has sent one request, at 100 a
// minute. The text of the keys does not count, unless a subject copies it.
func sizes(ctx context.Context) (map[string]result, error) {
	results, names := map[string]result{}, make([]string, memoryKeys)
	for i := range names {
		names[i] = "user:" + strconv.Itoa(i)
	}
	for _, s := range inMemory {
		before := heap()
		l, err := s.open(ctx, quota{100, window})
		for i := 0; err == nil && i < len(names); i++ {
			_, err = l.decide(ctx, names[i])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		results[s.name] = result{size: float64(heap()-before) / memoryKeys}
		l.shut()
	}
	runtime.KeepAlive(names)
	return results, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first may have to finish what an earlier one began
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
