package subject

import (
	"context"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/bench/compare/measure"
)

// maxKeys is the number of keys that a limiter in memory has room for.
const maxKeys = 250_000

// Memory returns the limiters in memory, after the bare operation.
func Memory() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: openMap},
		{Name: Slidegate, Open: OpenMemory(Sliding, maxKeys)},
		{Name: "go-limiter", Open: openGoLimiter},
		{Name: "throttled", Open: openThrottled},
		{Name: "ulule/limiter", Open: openUlule},
		{Name: "httprate", Open: openHTTPRate},
		{Name: "x/time/rate", Open: openRate},
	}
}

// Sharing returns what two threads may share: Slidegate for so many keys, and
// others of which threads seldom wait for each other.
func Sharing(keys int) []measure.Subject {
	return []measure.Subject{
		{Name: Slidegate, Open: OpenMemory(Sliding, keys)},
		{Name: Sharded, Open: openShards},
		{Name: "go-limiter", Open: openGoLimiter},
	}
}

// openShards is the bare operation with many maps, so that two threads seldom
// meet: what the machine itself gains by a second thread.
func openShards(ctx context.Context, l measure.Limit) (*measure.Limiter, error) {
	var shards [1024]measure.Decide
	for i := range shards {
		one, _ := openMap(ctx, l)
		shards[i] = one.Decide
	}
	seed := maphash.MakeSeed()
	return &measure.Limiter{Decide: func(ctx context.Context, key string) (bool, error) {
		return shards[maphash.String(seed, key)%uint64(len(shards))](ctx, key)
	}}, nil
}

// openMap is the bare operation: the least that a limiter does. It reads the
// clock, and counts in a map behind a mutex.
func openMap(context.Context, measure.Limit) (*measure.Limiter, error) {
	var mu sync.Mutex
	counts, start := map[string]int64{}, time.Now()
	return &measure.Limiter{Decide: func(_ context.Context, key string) (bool, error) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		counts[key]++
		return !now.Before(start), nil
	}}, nil
}

// Sliding returns the sliding window that a case wants.
func Sliding(l measure.Limit) slidegate.Limit {
	return slidegate.SlidingWindow(l.Capacity, l.Window).WithSlots(l.Window / time.Duration(l.Slots))
}

// OpenMemory has Slidegate count in memory by a limit, for as many keys as it
// has room for by default, or more.
func OpenMemory(by func(measure.Limit) slidegate.Limit, keys int) func(context.Context, measure.Limit) (*measure.Limiter, error) {
	return func(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
		options := []slidegate.Option{by(l)}
		if keys > maxKeys {
			options = append(options, slidegate.WithName("bench"), slidegate.WithStore(slidegate.NewMemory(keys)))
		}
		lim, err := slidegate.New(options...)
		if err != nil {
			return nil, err
		}
		return &measure.Limiter{Decide: allow(lim), Fill: fill(l, func(ctx context.Context, then time.Time, key string, units int64) error {
			_, err := lim.AllowAt(ctx, then, key, units)
			return err
		})}, nil
	}
}

func allow(lim *slidegate.Limiter) measure.Decide {
	return func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key)
		return r.Allowed, err
	}
}

// fill charges units of a key in each slot of the window that ends now.
func fill(l measure.Limit, charge func(ctx context.Context, then time.Time, key string, units int64) error) func(context.Context, string, int64) error {
	return func(ctx context.Context, key string, units int64) error {
		end := time.Now()
		for i := l.Slots - 1; i >= 0; i-- {
			then := end.Add(-l.Window * time.Duration(i) / time.Duration(l.Slots))
			if err := charge(ctx, then, key, units); err != nil {
				return err
			}
		}
		return nil
	}
}

func openGoLimiter(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(l.Capacity), Interval: l.Window})
	if err != nil {
		return nil, err
	}
	return &measure.Limiter{
		Decide: func(ctx context.Context, key string) (bool, error) {
			_, _, _, ok, err := store.Take(ctx, key)
			return ok, err
		},
		Close: func() { _ = store.Close(context.Background()) },
	}, nil
}

func openThrottled(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	store, err := memstore.NewCtx(maxKeys)
	if err != nil {
		return nil, err
	}
	return throttledBy(store, l)
}

// throttledBy has throttled allow the whole capacity at once, as the others do.
func throttledBy(store throttled.GCRAStoreCtx, l measure.Limit) (*measure.Limiter, error) {
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(int(l.Capacity), l.Window), MaxBurst: int(l.Capacity) - 1}
	lim, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	return &measure.Limiter{Decide: func(ctx context.Context, key string) (bool, error) {
		limited, _, err := lim.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}}, nil
}

func openUlule(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	return ululeBy(ululememory.NewStore(), l), nil
}

func ululeBy(store limiter.Store, l measure.Limit) *measure.Limiter {
	lim := limiter.New(store, limiter.Rate{Period: l.Window, Limit: l.Capacity})
	return &measure.Limiter{Decide: func(ctx context.Context, key string) (bool, error) {
		c, err := lim.Get(ctx, key)
		return err == nil && !c.Reached, err
	}}
}

// openHTTPRate uses httprate as its middleware does. It decides only with a
// request and a response, which here has no header fields.
func openHTTPRate(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	lim := httprate.NewRateLimiter(int(l.Capacity), l.Window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	return &measure.Limiter{Decide: func(_ context.Context, key string) (bool, error) {
		return !lim.OnLimit(nowhere{}, r, key), nil
	}}, nil
}

// nowhere is a response without fields.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

// openRate keeps a bucket for each key, as x/time/rate leaves to its users.
func openRate(_ context.Context, l measure.Limit) (*measure.Limiter, error) {
	var mu sync.Mutex
	limiters := map[string]*rate.Limiter{}
	return &measure.Limiter{Decide: func(_ context.Context, key string) (bool, error) {
		mu.Lock()
		lim := limiters[key]
		if lim == nil {
			lim = rate.NewLimiter(rate.Limit(float64(l.Capacity)/l.Window.Seconds()), int(l.Capacity))
			limiters[key] = lim
		}
		mu.Unlock()
		return lim.Allow(), nil
	}}, nil
}
