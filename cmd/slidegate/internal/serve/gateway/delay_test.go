package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestLeavesEvenly sends a burst through a leaky bucket: the gateway passes on
// two requests a second, half a second apart. Requests beyond the queue are denied at once.
func TestLeavesEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, leaky, 0)
		var mu sync.Mutex
		var waited []time.Duration
		var clients sync.WaitGroup
		for range 6 {
			clients.Go(func() {
				status, fields, took := s.get(t, "/")
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					waited = append(waited, took)
					return
				}
				if status != http.StatusTooManyRequests || took != 0 || fields.Get("Retry-After") != "1" {
					t.Errorf("status %d after %v, fields %v", status, took, fields)
				}
			})
		}
		clients.Wait()
		const half = 500 * time.Millisecond
		slices.Sort(waited)
		if want := []time.Duration{0, half, 2 * half, 3 * half}; !slices.Equal(waited, want) {
			t.Errorf("waited %v, want %v", waited, want)
		}
		s.close(t)
	})
}

// TestHangUpWhileDelayed: the gateway does not pass on a delayed request after
// its client has hung up, and gives its turn to the next.
func TestHangUpWhileDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, leaky, 0)
		s.get(t, "/first")
		conn := s.net.dial()
		if _, err := io.WriteString(conn, "GET /gone HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		conn.Close()
		synctest.Wait()
		if _, _, took := s.get(t, "/third"); took != 300*time.Millisecond {
			t.Errorf("the third request waited %v, want 300ms: it has the turn of the second", took)
		}
		if want := []string{"/first 0s", "/third 500ms"}; !slices.Equal(s.reached, want) {
			t.Errorf("passed on %v, want %v", s.reached, want)
		}
		s.close(t)
	})
}

// TestMaxDelay: a request with a longer delay than the maximum is denied at
// once, and one with exactly the maximum is delayed.
func TestMaxDelay(t *testing.T) {
	for name, test := range map[string]struct {
		maxDelay, interval time.Duration
		delayed            bool
		retryAfter         string
	}{
		"the option":       {3 * time.Second, 3 * time.Second, true, ""},
		"over the option":  {3 * time.Second, 3100 * time.Millisecond, false, "4"},
		"the default":      {0, gateway.DefaultMaxDelay, true, ""},
		"over the default": {0, 20 * time.Second, false, "20"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSite(t, fmt.Sprintf("rules: [{name: slow, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: %v, queue: 2}]}]", test.interval), test.maxDelay)
				s.get(t, "/first")
				status, fields, took := s.get(t, "/second")
				if test.delayed {
					if status != http.StatusOK || took != test.interval {
						t.Errorf("status %d after %v, want a delay of %v", status, took, test.interval)
					}
				} else if status != http.StatusTooManyRequests || took != 0 || fields.Get("Retry-After") != test.retryAfter ||
					fields.Get("X-RateLimit-Remaining") != "0" || fields.Get("Content-Type") != "application/problem+json" {
					t.Errorf("status %d after %v, fields %v", status, took, fields)
				}
				s.close(t)
				if s.log.Len() > 0 {
					t.Errorf("logged %q", &s.log)
				}
			})
		})
	}
}

// TestStopWhileDelayed: a gateway that stops still answers delayed requests.
func TestStopWhileDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, "rules: [{name: slow, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 9s, queue: 5}]}]", 0)
		s.get(t, "/")
		var client sync.WaitGroup
		client.Go(func() {
			if status, _, took := s.get(t, "/"); status != http.StatusOK || took != 9*time.Second {
				t.Errorf("status %d after %v", status, took)
			}
		})
		time.Sleep(time.Second)
		s.close(t)
		client.Wait()
	})
}

// TestHangUpBeforeTheDecision: a client that hangs up is no failure of the
// authorizer. The gateway logs nothing and passes nothing on.
func TestHangUpBeforeTheDecision(t *testing.T) {
	var log bytes.Buffer
	set := parse(t, document)
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ctx, hangUp := context.WithCancel(t.Context())
	store := fakestore.New(func(c *fakestore.Call) error {
		hangUp()
		return c.Ctx.Err()
	})
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Observer: oplog.NewObserver(logger)})
	handler := gateway.New(gateway.Options{Authorizer: apigw.NewAuthorizer(e, atNow), Log: logger})
	req, err := http.NewRequestWithContext(ctx, "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.RemoteAddr = "203.0.113.9:50000"
	w := httptest.NewRecorder()
	defer func() {
		if aborted := recover(); aborted != any(http.ErrAbortHandler) || w.Body.Len() > 0 || log.Len() > 0 {
			t.Errorf("ended with %v, answered %q, logged %q", aborted, w.Body, &log)
		}
	}()
	handler.ServeHTTP(w, req)
}
