package limithttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

// TestTransportRetries: which requests are sent again, and when each attempt
// comes to the other side.
func TestTransportRetries(t *testing.T) {
	ok := answer{status: 200}
	for _, test := range []struct {
		name    string
		answers []answer
		method  string
		edit    func(*http.Request)
		within  time.Duration // 0 for no end
		came    string
		status  int
	}{
		{"until it succeeds", []answer{{429, "1", ""}, {503, "2", ""}, ok}, "GET", nil, 0, "0s 1s 3s", 200},
		{"as often as allowed", []answer{{429, "1", ""}}, "GET", nil, 0, "0s 1s 2s 3s", 429},
		{"an answer without Retry-After stands", []answer{{429, "1", ""}, {429, "", ""}}, "GET", nil, 0, "0s 1s", 429},
		{"another error stands", []answer{{429, "1", ""}, {500, "1", ""}}, "GET", nil, 0, "0s 1s", 500},
		{"a body is sent again", []answer{{429, "1", ""}, ok}, "POST", withBody("text", true), 0, "0s text 1s text", 200},
		{"a body that cannot be had again is not", []answer{{429, "1", ""}, ok}, "POST", withBody("text", false), 0, "0s text", 429},
		{"no body is no obstacle", []answer{{429, "1", ""}, ok}, "POST", func(r *http.Request) { r.Body = http.NoBody }, 0, "0s  1s ", 200},
		{"GetBody fails", []answer{{429, "1", ""}, ok}, "POST", func(r *http.Request) {
			withBody("text", true)(r)
			r.GetBody = func() (io.ReadCloser, error) { return nil, errDown }
		}, 0, "0s text", 429},
		{"a POST that may have begun is not", []answer{{503, "1", ""}, ok}, "POST", withBody("text", true), 0, "0s text", 503},
		{"a POST that was forbidden is", []answer{{403, "1", ""}, ok}, "POST", withBody("text", true), 0, "0s text 1s text", 200},
		{"a PUT is", []answer{{503, "1", ""}, ok}, "PUT", withBody("text", true), 0, "0s text 1s text", 200},
		{"a POST with a key is", []answer{{503, "1", ""}, ok}, "POST", func(r *http.Request) {
			withBody("text", true)(r)
			r.Header.Set("Idempotency-Key", "7")
		}, 0, "0s text 1s text", 200},
		{"in the time of the context", []answer{{429, "9", ""}, ok}, "GET", nil, 10 * time.Second, "0s 9s", 200},
		{"not beyond", []answer{{429, "11", ""}, ok}, "GET", nil, 10 * time.Second, "0s", 429},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &otherSide{answers: test.answers, start: time.Now()}
				transport := &limithttp.Transport{Base: o, Retries: 3, Limiter: newLimiter(t, slidegate.FixedWindow(100, time.Hour))}
				ctx := t.Context()
				if test.within > 0 {
					bounded, cancel := context.WithTimeout(ctx, test.within)
					defer cancel()
					ctx = bounded
				}
				r, err := http.NewRequestWithContext(ctx, test.method, "http://api/", nil)
				if err != nil {
					t.Fatal(err)
				}
				if test.edit != nil {
					test.edit(r)
				}
				before := *r
				response, err := transport.RoundTrip(r)
				if err != nil || response.StatusCode != test.status {
					t.Fatal(response, err)
				}
				if came := strings.Join(o.came, " "); came != test.came {
					t.Errorf("came at %s; want %s", came, test.came)
				}
				if r.Body != before.Body || r.URL != before.URL {
					t.Error("the request was changed")
				}
				for i, b := range o.bodies {
					rest, _ := io.ReadAll(b)
					if last := i == len(o.bodies)-1; b.closed.Load() == last || (len(rest) > 0) != last {
						t.Errorf("answer %d of %d: closed %v, %d bytes unread", i+1, len(o.bodies), b.closed.Load(), len(rest))
					}
				}
				r2, err := transport.Limiter.Peek(t.Context(), "api")
				if err != nil || int(100-r2.Remaining) != len(o.came) {
					t.Errorf("%d attempts charged %d units, %v", len(o.came), 100-r2.Remaining, err)
				}
			})
		})
	}
}

func withBody(text string, again bool) func(*http.Request) {
	return func(r *http.Request) {
		get := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if r.Body, _ = get(); again {
			r.GetBody = get
		}
	}
}

// TestTransportServer sends requests to a server. Connections are used again,
// because the answers that are retried are read to their ends.
func TestTransportServer(t *testing.T) {
	var requests, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if requests.Add(1)%3 != 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = io.WriteString(w, strings.Repeat(string(text), 1000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	base := &http.Transport{}
	client := &http.Client{Transport: &limithttp.Transport{Base: base, Retries: 2, Limiter: newLimiter(t, slidegate.SlidingWindow(1000, time.Minute))}}
	for range 10 {
		response, err := client.Post(server.URL, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || len(text) != 4000 {
			t.Errorf("%v, %d bytes, %v", response.Status, len(text), err)
		}
		_ = response.Body.Close()
	}
	client.CloseIdleConnections()
	if requests.Load() != 30 || connections.Load() > 5 { // one, unless the machine is slow
		t.Errorf("%d requests over %d connections; want 30 over 1", requests.Load(), connections.Load())
	}
}
