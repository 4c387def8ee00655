package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate"
)

// memoryKeys is how many keys the memory of a key is measured with.
const memoryKeys = 200_000

var inMemory = []subject{
	{bare, counting},
	{ours, func(b *testing.B, quota int64) *opened { return bySlidegate(b, quota, slidegate.SlidingWindow) }},
	{"go-limiter", func(b *testing.B, quota int64) *opened {
		store, err := memorystore.New(&memorystore.Config{Tokens: uint64(quota), Interval: window})
		check(b, err)
		b.Cleanup(func() { _ = store.Close(context.Background()) })
		return &opened{decide: func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok, err
		}}
	}},
	{"throttled", func(b *testing.B, quota int64) *opened {
		store, err := memstore.NewCtx(memoryKeys)
		check(b, err)
		return byThrottled(b, store, quota)
	}},
	{"ulule", func(_ *testing.B, quota int64) *opened { return byUlule(memory.NewStore(), quota) }},
	// httprate decides only with a request and a response, which here has no
	// header fields.
	{"httprate", func(_ *testing.B, quota int64) *opened {
		lim := httprate.NewRateLimiter(int(quota), window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
		w, r := &discard{}, httptest.NewRequest(http.MethodGet, "/", nil)
		return &opened{decide: func(_ context.Context, key string) (bool, error) { return !lim.OnLimit(w, r, key), nil }}
	}},
	// x/time/rate leaves the map of keys to its users.
	{"x-time-rate", func(_ *testing.B, quota int64) *opened {
		var mu sync.Mutex
		limiters := map[string]*rate.Limiter{}
		return &opened{decide: func(_ context.Context, key string) (bool, error) {
			mu.Lock()
			lim := limiters[key]
			if lim == nil {
				lim = rate.NewLimiter(rate.Limit(float64(quota)/60), int(quota))
				limiters[key] = lim
			}
			mu.Unlock()
			return lim.Allow(), nil
		}}
	}},
}

// counting is the bare operation: the least that a limiter does. It reads the
// clock, and counts in a map behind a mutex.
func counting(*testing.B, int64) *opened {
	var mu sync.Mutex
	counts, start := map[string]int64{}, time.Now()
	return &opened{decide: func(_ context.Context, key string) (bool, error) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		counts[key]++
		return !now.Before(start), nil
	}}
}

// byThrottled allows the whole quota at once, as the others do.
func byThrottled(b *testing.B, store throttled.GCRAStoreCtx, quota int64) *opened {
	lim, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(quota), window), MaxBurst: int(quota) - 1,
	})
	check(b, err)
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		limited, _, err := lim.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}}
}

func byUlule(store ulule.Store, quota int64) *opened {
	lim := ulule.New(store, ulule.Rate{Period: window, Limit: quota})
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		c, err := lim.Get(ctx, key)
		return err == nil && !c.Reached, err
	}}
}

func BenchmarkMemory(b *testing.B) {
	load{name: "one-key", clients: 1, quota: unlimited}.run(b, inMemory)
	load{name: "all-denied", clients: 1, quota: 100}.run(b, inMemory)
	load{name: "100k-keys", clients: 1, quota: unlimited, keys: 100_000}.run(b, inMemory)
	load{name: "16-clients", clients: 16, quota: unlimited, keys: 100_000}.run(b, inMemory)
	for _, lim := range inMemory {
		b.Run("load=memory/limiter="+lim.name, func(b *testing.B) { bytesOfKey(b, lim) })
	}
}

// bytesOfKey measures the memory of a key that has sent one request, at 100 a
// minute. The text of the keys does not count, unless a limiter copies it.
func bytesOfKey(b *testing.B, lim subject) {
	names := make([]string, memoryKeys)
	for i := range names {
		names[i] = "user:" + strconv.Itoa(i)
	}
	for b.Loop() {
		before := heap()
		l := lim.open(b, 100)
		for _, name := range names {
			_, err := l.decide(b.Context(), name)
			check(b, err)
		}
		b.ReportMetric(float64(heap()-before)/memoryKeys, "B/key")
		runtime.KeepAlive(l)
	}
	b.ReportMetric(0, "ns/op") // reports no time
	runtime.KeepAlive(names)
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first may have to finish what an earlier one began
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// discard is a response without a reader.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
