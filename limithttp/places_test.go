package limithttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limittest"
)

// TestPlaces: a request has its place until its handler returns, however that ends.
func TestPlaces(t *testing.T) {
	inFlight := slidegate.InFlight(1, time.Minute)
	lim := mustNew(t, inFlight)
	g := mustGate(t, gate.Rules{Rules: []gate.Rule{{Name: "work", Key: "all", Limits: []slidegate.Limit{inFlight}}}})
	for kind, limited := range map[string]func(http.Handler) http.Handler{"limiter": limithttp.Middleware(lim), "gate": limithttp.GateMiddleware(g)} {
		for name, handler := range map[string]http.HandlerFunc{
			"an answer":             okay,
			"no answer":             func(http.ResponseWriter, *http.Request) {},
			"a panic":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"a hijacked connection": hijack(t, "echo "),
		} {
			during, ended := 0, make(chan bool)
			var h http.Handler
			h = limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/beside" {
					return
				}
				during = sendTo(h, "GET", "/beside").StatusCode
				handler(w, r)
			}))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended <- true }()
				r.RemoteAddr = "192.0.2.1:1234" // that of sendTo
				h.ServeHTTP(w, r)
			}))
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello\n")
			<-ended
			if after := sendTo(h, "GET", "/beside").StatusCode; during != http.StatusTooManyRequests || after != http.StatusOK {
				t.Errorf("%s, %s: status %d beside it, and %d after it", kind, name, during, after)
			}
			conn.Close()
			server.Close()
		}
	}
}

// TestPlaceOfHeldRequest: a request that does not come to its turn has no place.
func TestPlaceOfHeldRequest(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"its turn is too late": time.Second, "its client hangs up": 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			lim := mustNew(t, slidegate.InFlight(2, time.Minute), slidegate.LeakyBucket(1, 5*time.Second, 5), slidegate.WithClock(time.Now))
			h := limithttp.Middleware(lim)(okay)
			sendTo(h, "GET", "/")
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			if name == "its client hangs up" {
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
			}
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			for range 2 {
				r, err := lim.Reserve(t.Context(), "ip:192.0.2.1")
				if err != nil || !r.Allowed {
					t.Errorf("%s: a place is kept: %+v, %v", name, r, err)
				}
			}
		})
	}
}

// TestLongWork: a place is renewed while the handler works.
func TestLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := mustNew(t, slidegate.InFlight(1, time.Minute), slidegate.WithClock(time.Now))
		h := limithttp.Middleware(lim)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			if other, err := lim.Reserve(r.Context(), "ip:192.0.2.1"); err != nil || other.Allowed {
				t.Errorf("after an hour another has the place: %+v, %v", other, err)
			}
			_, _ = io.WriteString(w, "ok")
		}))
		if got := sendTo(h, "GET", "/").StatusCode; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
		if r, err := lim.Reserve(t.Context(), "ip:192.0.2.1"); err != nil || !r.Allowed {
			t.Errorf("after the end: %+v, %v", r, err)
		}
	})
}

// TestLostPlace: the context of the work ends once another request may have its
// place.
func TestLostPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := mustNew(t, slidegate.InFlight(1, time.Minute), slidegate.WithClock(time.Now), slidegate.WithName("work"),
			slidegate.WithLogger(slog.New(slog.DiscardHandler)), slidegate.WithStore(limittest.NewStore(limittest.Count(), limittest.Fail(slidegate.ErrClosed))))
		start := time.Now()
		sendTo(limithttp.Middleware(lim)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			if cause, after := context.Cause(r.Context()), time.Since(start); !errors.Is(cause, slidegate.ErrClosed) || after != 30*time.Second {
				t.Errorf("the context ends after %v: %v", after, cause)
			}
		})), "GET", "/")
	})
}
