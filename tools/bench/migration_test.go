package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
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

// TestFrameworks sends the same requests to a router of chi and an engine of
// gin, with the code of docs/library.md. Both limit all routes, and one route
// by another limiter too.
func TestFrameworks(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	for name, build := range map[string]func(all, login func(http.Handler) http.Handler) http.Handler{
		"chi": func(all, login func(http.Handler) http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Use(all)
			r.With(login).Post("/login", noContent)
			return r
		},
		"gin": func(all, login func(http.Handler) http.Handler) http.Handler {
			e := gin.New()
			e.Use(forGin(all))
			e.POST("/login", forGin(login), func(c *gin.Context) { c.Status(http.StatusNoContent) })
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := limithttp.Middleware(newLimiter(t, 4), limithttp.RefundOn("404"))
			h := build(all, limithttp.Middleware(newLimiter(t, 1)))
			var got string
			for _, path := range []string{"/none", "/login", "/login", "/none", "/none", "/none", "/login", "/login"} {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
				left, _, _ := strings.Cut(w.Header().Get("RateLimit"), ";t=")
				got += fmt.Sprintln(path, w.Code, left, w.Header().Get("Retry-After") != "")
			}
			// Status 404 is refunded, and a request that login denies counts for
			// all routes.
			const want = `/none 404 "default";r=3 false
/login 204 "default";r=0 false
/login 429 "default";r=0 true
/none 404 "default";r=1 false
/none 404 "default";r=1 false
/none 404 "default";r=1 false
/login 429 "default";r=0 true
/login 429 "default";r=0 true
`
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func newLimiter(t *testing.T, n int64) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(slidegate.SlidingWindow(n, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// forGin adapts net/http middleware to gin.
func forGin(middleware func(http.Handler) http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		own, passed := c.Writer, false
		middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.Writer, c.Request, passed = ginWriter{own, w}, r, true
			c.Next()
			if !own.Written() {
				w.WriteHeader(own.Status()) // which gin writes later
			}
		})).ServeHTTP(own, c.Request)
		if c.Writer = own; !passed {
			c.Abort()
		}
	}
}

// ginWriter writes through the middleware.
type ginWriter struct {
	gin.ResponseWriter
	through http.ResponseWriter
}

func (w ginWriter) WriteHeader(status int)               { w.through.WriteHeader(status) }
func (w ginWriter) Write(p []byte) (int, error)          { return w.through.Write(p) }
func (w ginWriter) WriteString(text string) (int, error) { return io.WriteString(w.through, text) }
