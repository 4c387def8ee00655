package bench

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// The tests below show what docs/migrating.md says about other limiters where
// their documentation does not say it.

func TestTollbooth(t *testing.T) {
	lim := tollbooth.NewLimiter(100.0/60, nil).SetBurst(1)
	send := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		tollbooth.LimitHandler(lim, noContent).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for range 10 {
		if w := send("/a"); w.Code != http.StatusNoContent {
			t.Errorf("without SetIPLookup: %d", w.Code)
		}
	}
	lim.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
	if w := send("/a"); w.Code != http.StatusNoContent || w.Header().Get("RateLimit-Limit") != "2" {
		t.Errorf("100 a minute: %d, %v", w.Code, w.Header())
	}
	if a, b := send("/a"), send("/b"); a.Code != http.StatusTooManyRequests || b.Code != http.StatusNoContent {
		t.Errorf("two paths: %d and %d", a.Code, b.Code)
	}
}

func TestUlule(t *testing.T) {
	lim := ulule.New(memory.NewStore(), ulule.Rate{Period: time.Minute, Limit: 10}, ulule.WithTrustForwardHeader(true))
	if c, err := lim.Increment(t.Context(), "key", 11); err != nil || !c.Reached {
		t.Errorf("11 of 10: %+v, %v", c, err)
	}
	if c, err := lim.Get(t.Context(), "key"); err != nil || !c.Reached {
		t.Errorf("one more, after a denied request of 11: %+v, %v", c, err)
	}
	h := stdlib.NewMiddleware(lim).Handler(noContent)
	for _, made := range []string{"192.0.2.1", "192.0.2.2"} {
		for range 10 {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("X-Forwarded-For", made+", 198.51.100.1")
			if h.ServeHTTP(w, r); w.Code != http.StatusNoContent {
				t.Errorf("a client that makes up %s: %d", made, w.Code)
			}
		}
	}
}

func TestGoLimiter(t *testing.T) {
	store, err := memorystore.New(&memorystore.Config{Tokens: 1, Interval: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	limit, err := httplimit.NewMiddleware(store, httplimit.IPKeyFunc())
	if err != nil {
		t.Fatal(err)
	}
	h := limit.Handle(noContent)
	get(h, "192.0.2.1:1234")
	if after := get(h, "192.0.2.1:1234").Header().Get("Retry-After"); !strings.HasSuffix(after, " UTC") {
		t.Errorf("Retry-After: %s", after)
	}
}
