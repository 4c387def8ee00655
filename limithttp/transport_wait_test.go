package limithttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limittest"
)

// TestTransportFails: a request that cannot have its turn in time fails at once,
// with its body closed, and is not sent.
func TestTransportFails(t *testing.T) {
	full := slidegate.WithStore(limittest.NewStore(limittest.Deny(time.Minute)))
	down := slidegate.WithStore(limittest.NewStore(limittest.Fail(errDown)))
	for _, test := range []struct {
		name   string
		store  slidegate.Option
		paused bool
		cancel bool // after a second
		want   error
		text   string
		takes  time.Duration
	}{
		{"by the limit", full, false, false, context.DeadlineExceeded, "slidegate: limiter api: the next turn is in 1m0s: context deadline exceeded", 0},
		{"by the other side", nil, true, false, context.DeadlineExceeded, "slidegate: api asked to wait: the next turn is in 30s: context deadline exceeded", 0},
		{"the caller hangs up, and waits for the limit", full, false, true, context.Canceled, "slidegate: limiter api: context canceled", time.Second},
		{"the caller hangs up, and waits for the other side", nil, true, true, context.Canceled, "slidegate: api asked to wait: context canceled", time.Second},
		{"the store fails", down, false, false, errDown, "slidegate: limiter api: connection refused", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &otherSide{answers: []answer{{429, "30", ""}}, start: time.Now()}
			transport := &limithttp.Transport{Base: o}
			if test.store != nil {
				transport.Limiter = newLimiter(t, slidegate.FixedWindow(1, time.Minute), slidegate.WithName("api"), test.store, slidegate.FailError())
			}
			if test.paused {
				send(t, transport, "GET")
			}
			sent := len(o.came)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if test.cancel {
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
			}
			content := &body{Reader: strings.NewReader("text")}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api/", content)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			response, err := transport.RoundTrip(r)
			if response != nil || !errors.Is(err, test.want) || err.Error() != test.text || time.Since(start) != test.takes {
				t.Errorf("%s: after %v: %v; want %s after %v", test.name, time.Since(start), err, test.text, test.takes)
			}
			if !content.closed.Load() || len(o.came) != sent {
				t.Errorf("%s: the request's body was closed: %v; it was sent %d times", test.name, content.closed.Load(), len(o.came)-sent)
			}
		})
	}
}

// TestTransportPauses: a pause that begins while requests wait for the limit
// holds them too, a shorter one does not end a longer one, and the client's
// Timeout bounds them.
func TestTransportPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &otherSide{answers: []answer{{200, "", ""}, {429, "30", ""}, {429, "5", ""}, {200, "", ""}}, start: time.Now()}
		transport := &limithttp.Transport{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(550 * time.Millisecond)
			return o.RoundTrip(r)
		}), Limiter: newLimiter(t, slidegate.LeakyBucket(10, time.Second, 100))}
		var wg sync.WaitGroup
		for range 20 { // the second is answered at 0.65 s
			wg.Go(func() { send(t, transport, "GET") })
		}
		wg.Wait()
		// Seven have left by then; the others leave after the pause, one by one.
		want := "550ms 650ms 750ms 850ms 950ms 1.05s 1.15s 31.2s 31.3s 31.4s 31.5s 31.6s 31.7s 31.8s 31.9s 32s 32.1s 32.2s 32.3s 32.4s"
		if came := strings.Join(o.came, " "); came != want {
			t.Errorf("came at %s; want %s", came, want)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		o := &otherSide{answers: []answer{{429, "30", ""}}, start: time.Now()}
		client := &http.Client{Transport: &limithttp.Transport{Base: o}, Timeout: 20 * time.Second}
		response, err := client.Get("http://api/")
		if err != nil || response.StatusCode != http.StatusTooManyRequests {
			t.Fatal(response, err)
		}
		_ = response.Body.Close()
		_, err = client.Get("http://api/")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(o.start) != 0 {
			t.Errorf("after %v: %v", time.Since(o.start), err)
		}
	})
}

// TestTransportForgets: pauses that are over take no memory.
func TestTransportForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &limithttp.Transport{Base: &otherSide{answers: []answer{{429, "30", ""}}, start: time.Now()}}
		for i := range 100 {
			send(t, transport, fmt.Sprintf("GET host%d", i))
			time.Sleep(time.Second)
		}
		if n := transport.Pauses(); n != 30 {
			t.Errorf("%d pauses; want 30", n)
		}
	})
}
