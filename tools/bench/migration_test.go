package bench

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
)

// The code of docs/migrating.md: the old limiter, and
// Slidegate.
var migrations = []struct {
	name          string
	before, after func(next http.Handler) (http.Handler, error)
}{
	{"ulule", ululeBefore, ululeAfter},
	{"httprate", httprateBefore, httprateAfter},
	{"tollbooth", tollboothBefore, tollboothAfter},
	{"go-limiter", goLimiterBefore, goLimiterAfter},
}

func ululeBefore(next http.Handler) (http.Handler, error) {
	rate, err := ulule.NewRateFromFormatted("100-M")
	if err != nil {
		return nil, err
	}
	lim := ulule.New(memory.NewStore(), rate,
		ulule.WithTrustForwardHeader(true))
	limit := stdlib.NewMiddleware(lim)
	return limit.Handler(next), nil
}

func ululeAfter(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(
		slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		return nil, err
	}
	limit := limithttp.Middleware(lim,
		limithttp.ByForwardedIP(1)) // one proxy
	return limit(next), nil
}

func httprateBefore(next http.Handler) (http.Handler, error) {
	limit := httprate.LimitBy(100, time.Minute, tenant,
		httprate.WithLimitHandler(sorry))
	return limit(next), nil
}

func httprateAfter(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(
		slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		return nil, err
	}
	limit := limithttp.Middleware(lim,
		limithttp.ByHeader("X-Tenant"),
		limithttp.OnDenied(sorryToo))
	return limit(next), nil
}

func tenant(r *http.Request) (string, error) { return r.Header.Get("X-Tenant"), nil }

func sorry(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "sorry", http.StatusTooManyRequests)
}

func sorryToo(w http.ResponseWriter, r *http.Request, _ *gate.Decision) { sorry(w, r) }

func tollboothBefore(next http.Handler) (http.Handler, error) {
	lim := tollbooth.NewLimiter(100.0/60, nil) // a second
	lim.SetBurst(100).SetIgnoreURL(true)
	lim.SetMethods([]string{"GET"})
	lim.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
	return tollbooth.LimitHandler(lim, next), nil
}

func tollboothAfter(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(
		slidegate.TokenBucket(100, time.Minute, 100))
	if err != nil {
		return nil, err
	}
	limit := limithttp.Middleware(lim, limithttp.SkipIf(
		func(r *http.Request) bool { return r.Method != "GET" }))
	return limit(next), nil
}

func goLimiterBefore(next http.Handler) (http.Handler, error) {
	store, err := memorystore.New(&memorystore.Config{
		Tokens: 100, Interval: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	limit, err := httplimit.NewMiddleware(store,
		httplimit.IPKeyFunc())
	if err != nil {
		return nil, err
	}
	return limit.Handle(next), nil
}

func goLimiterAfter(next http.Handler) (http.Handler, error) {
	lim, err := slidegate.New(
		slidegate.SlidingWindow(100, time.Minute))
	if err != nil {
		return nil, err
	}
	limit := limithttp.Middleware(lim, limithttp.ByIP())
	return limit(next), nil
}

// TestMigrations: both sides allow 100 requests of a client, and then deny one.
func TestMigrations(t *testing.T) {
	for _, m := range migrations {
		for side, limit := range map[string]func(http.Handler) (http.Handler, error){"before": m.before, "after": m.after} {
			t.Run(m.name+"/"+side, func(t *testing.T) {
				h, err := limit(noContent)
				if err != nil {
					t.Fatal(err)
				}
				for n := range capacity + 1 {
					want := http.StatusNoContent
					if n == capacity {
						want = http.StatusTooManyRequests
					}
					if w := get(h, "192.0.2.1:1234"); w.Code != want {
						t.Fatalf("request %d: %d, want %d", n+1, w.Code, want)
					}
				}
			})
		}
	}
}

func rateBefore(ctx context.Context, jobs []func() error) error {
	lim := rate.NewLimiter(rate.Every(time.Second/10), 5)
	for _, job := range jobs {
		if err := lim.Wait(ctx); err != nil {
			return err
		}
		if err := job(); err != nil {
			return err
		}
	}
	return nil
}

func rateAfter(ctx context.Context, jobs []func() error) error {
	lim, err := slidegate.New(
		slidegate.TokenBucket(10, time.Second, 5))
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := lim.Wait(ctx, "jobs"); err != nil {
			return err
		}
		if err := job(); err != nil {
			return err
		}
	}
	return nil
}

// TestMigrationOfWait: both sides do five jobs at once, and then one every
// 100 ms.
func TestMigrationOfWait(t *testing.T) {
	for name, run := range map[string]func(context.Context, []func() error) error{"before": rateBefore, "after": rateAfter} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				jobs := make([]func() error, 8)
				for i := range jobs {
					jobs[i] = func() error { return nil }
				}
				if err := run(t.Context(), jobs); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start).Round(time.Microsecond); took != 300*time.Millisecond {
					t.Errorf("%d jobs took %v", len(jobs), took)
				}
			})
		})
	}
}
