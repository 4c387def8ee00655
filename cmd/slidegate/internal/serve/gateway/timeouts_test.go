package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// dialed serves a backend on a network in memory, so that a fake clock can pass.
func dialed(t *testing.T, backend http.HandlerFunc) func(context.Context, string, string) (net.Conn, error) {
	l := newPipes()
	server := &http.Server{Handler: backend}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		time.Sleep(2 * time.Hour) // the longest backend ends
	})
	return func(context.Context, string, string) (net.Conn, error) { return l.dial(), nil }
}

// readAll is a backend that takes a second for each byte of the request.
func readAll(w http.ResponseWriter, r *http.Request) {
	for buffer := make([]byte, 1); ; {
		if _, err := r.Body.Read(buffer); err == io.EOF {
			_, _ = io.WriteString(w, "done")
			return
		} else if err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// stuck is a backend that does not read, and does not answer.
func stuck(http.ResponseWriter, *http.Request) { time.Sleep(time.Hour) }

// slowAnswer begins its answer at once, and ends it after an hour.
func slowAnswer(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).EnableFullDuplex()
	_, _ = io.WriteString(w, "begun, ")
	_ = http.NewResponseController(w).Flush()
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		time.Sleep(time.Hour)
		_, _ = io.WriteString(w, "ended")
	}
}

// TestTimeouts: neither a client that never ends its upload nor a backend that
// does not answer holds a connection for ever. An answer may take any time.
func TestTimeouts(t *testing.T) {
	const get, upload = "GET / HTTP/1.1\nHost: x\nConnection: close\n\n", "POST / HTTP/1.1\nHost: x\nContent-Length: 9\n\n"
	short := gateway.Timeouts{Read: 7 * time.Second, Idle: 5 * time.Second, Backend: 3 * time.Second}
	long := "POST / HTTP/1.1\nHost: x\nContent-Length: 1000000\n\n" + strings.Repeat("x", 1_000_000)
	for name, test := range map[string]struct {
		backend  http.HandlerFunc
		timeouts gateway.Timeouts
		sent     string
		status   int // 0 for no answer
		body     string
		after    time.Duration // of the first byte
	}{
		"an upload that never ends": {readAll, gateway.Timeouts{}, upload + "less", 408, "Request Timeout", time.Minute},
		"with a flag":               {readAll, short, upload + "less", 408, "Request Timeout", 7 * time.Second},
		"a client that is slower than a backend may be": {
			readAll, gateway.Timeouts{Read: 7 * time.Second, Backend: 2 * time.Second}, upload + "less", 408, "Request Timeout", 7 * time.Second,
		},
		"a backend that stops reading":         {stuck, short, long, 504, "Gateway Timeout", 3 * time.Second},
		"an upload after the answer has begun": {slowAnswer, short, upload + "all of it", 200, "begun, ended", 0},
		"a backend that does not answer":       {stuck, gateway.Timeouts{}, get, 504, "Gateway Timeout", 30 * time.Second},
		"with a flag for that":                 {stuck, short, get, 504, "Gateway Timeout", 3 * time.Second},
		"an answer that takes an hour":         {slowAnswer, short, get, 200, "begun, ended", 0},
		"a connection without a next request":  {nil, short, "", 0, "", 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSite(t, document, gateway.Options{
					Backend: &url.URL{Scheme: "http", Host: "backend"}, Dial: dialed(t, test.backend), Timeouts: test.timeouts,
				})
				conn, start := s.send(test.sent), time.Now()
				defer conn.Close()
				status, begun, body := readAnswer(conn)
				if after := begun.Sub(start); status != test.status || !strings.Contains(body, test.body) || test.status != 0 && after != test.after {
					t.Errorf("answered %d after %v, %q; want %d after %v, %q", status, after, body, test.status, test.after, test.body)
				}
				if waited := time.Since(start); (test.status == 0 || test.status == 408) && waited != test.after {
					t.Errorf("closed or answered after %v, want %v", waited, test.after)
				}
				s.close(t)
			})
		})
	}
}

// TestClientsThatDoNotRead: a client that takes no more of an answer loses its
// connection. The backend's connection is free then.
func TestClientsThatDoNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		target   string
		timeouts gateway.Timeouts
		after    time.Duration
	}{
		"a backend's answer":  {"/", gateway.Timeouts{}, time.Minute},
		"with a flag":         {"/", gateway.Timeouts{Write: 7 * time.Second}, 7 * time.Second},
		"the gateway's own":   {"/banned", gateway.Timeouts{}, time.Minute},
		"takes the beginning": {"/begun", gateway.Timeouts{}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var freed atomic.Pointer[time.Time]
				endless := func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "1000000000000") // otherwise ReverseProxy waits for a mutex, which synctest takes for work
					for freed.Load() == nil {
						if _, err := w.Write(make([]byte, 4096)); err != nil {
							now := time.Now()
							freed.Store(&now)
						}
					}
				}
				s := startSite(t, document, gateway.Options{
					Backend: &url.URL{Scheme: "http", Host: "backend"}, Dial: dialed(t, endless), Timeouts: test.timeouts,
				})
				start := time.Now()
				conn := s.send("GET " + test.target + " HTTP/1.1\nHost: x\n\n")
				defer conn.Close()
				if test.target == "/begun" {
					_, _ = io.ReadFull(conn, make([]byte, 100_000))
				}
				time.Sleep(test.after - 1)
				synctest.Wait()
				if early := freed.Load(); early != nil {
					t.Errorf("the answer ends after %v, want %v", early.Sub(start), test.after)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if test.target != "/banned" && freed.Load() == nil {
					t.Errorf("the backend's answer is not ended after %v", test.after)
				}
				_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := io.WriteString(conn, "more"); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection is open after %v: %v", test.after, err)
				}
				s.close(t)
			})
		})
	}
}

// readAnswer returns an answer, and when it began; 0 if the connection closes before.
func readAnswer(conn net.Conn) (status int, begun time.Time, body string) {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, begun, ""
	}
	begun = time.Now()
	data, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, begun, string(data)
}

// TestDrainTime: an answer that takes longer is cut off when the gateway stops.
func TestDrainTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, document, gateway.Options{Backend: &url.URL{Scheme: "http", Host: "backend"}, Dial: dialed(t, slowAnswer)})
		conn, cut := s.send("GET / HTTP/1.1\nHost: x\n\n"), make(chan time.Time)
		defer conn.Close()
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			cut <- time.Now()
		}()
		synctest.Wait()
		stopped := time.Now()
		s.stop()
		if err := <-s.stopped; err == nil || err.Error() != "requests were under way for 15s after the end, and were cut off" {
			t.Error(err)
		}
		if after := (<-cut).Sub(stopped); after != 15*time.Second {
			t.Errorf("cut off after %v", after)
		}
	})
}

// TestDeniedUploadIsAnswered: the gateway reads little of a denied upload. It
// must still end its answer in good order: a reset connection loses it.
func TestDeniedUploadIsAnswered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- gateway.Server{Handler: serve(t, document), Log: quiet}.Serve(ctx, l) }()
	answer := exchange(t, l.Addr().String(), "POST /banned HTTP/1.1\nHost: x\nContent-Length: 1000000\n\n"+strings.Repeat("x", 100_000))
	if !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
		t.Errorf("answered\n%s", answer)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestStopWhileDelayed: a gateway that stops still answers delayed requests.
func TestStopWhileDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSite(t, "rules: [{name: slow, key: all, limits: [{algorithm: leaky_bucket, capacity: 1, window: 9s, queue: 5}]}]", gateway.Options{})
		get := func() (int, time.Duration) {
			conn := s.send("GET / HTTP/1.1\nHost: x\nConnection: close\n\n")
			defer conn.Close()
			status, begun, _ := readAnswer(conn)
			return status, begun.Sub(s.started)
		}
		get()
		var client sync.WaitGroup
		client.Go(func() {
			if status, took := get(); status != http.StatusOK || took != 9*time.Second {
				t.Errorf("status %d after %v", status, took)
			}
		})
		time.Sleep(time.Second)
		s.close(t)
		client.Wait()
	})
}
