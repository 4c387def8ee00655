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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// inMemory is a backend without a network, so that a fake clock can pass.
type inMemory func(r *http.Request) (*http.Response, error)

// RoundTrip ends with its context, as http.Transport does.
func (b inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	var response *http.Response
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err = b(r)
	}()
	select {
	case <-done:
		return response, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func answerWith(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Body: body, Request: r,
	}
}

// readAll is a backend that takes a second for each byte of the request.
func readAll(r *http.Request) (*http.Response, error) {
	for buffer := make([]byte, 1); ; {
		if _, err := r.Body.Read(buffer); err == io.EOF {
			return answerWith(r, io.NopCloser(strings.NewReader("done"))), nil
		} else if err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
	}
}

// stuck is a backend that does not read, and does not answer.
func stuck(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// readOne is a backend that stops reading after a byte.
func readOne(r *http.Request) (*http.Response, error) {
	_, _ = r.Body.Read(make([]byte, 1))
	return stuck(r)
}

// slowAnswer begins its answer at once, reads the request then, and ends its
// answer after an hour.
func slowAnswer(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "begun, ")
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		select {
		case <-time.After(time.Hour):
		case <-r.Context().Done():
			w.CloseWithError(r.Context().Err())
		}
		_, _ = io.WriteString(w, "ended")
		w.Close()
	}()
	return answerWith(r, body), nil
}

// TestTimeouts: neither a client that never ends its upload nor a backend that
// does not answer holds a connection for ever. An answer may take any time.
func TestTimeouts(t *testing.T) {
	const get, upload = "GET / HTTP/1.1\nHost: x\nConnection: close\n\n", "POST / HTTP/1.1\nHost: x\nContent-Length: 9\n\n"
	short := gateway.Timeouts{Read: 7 * time.Second, Idle: 5 * time.Second, Backend: 3 * time.Second}
	for name, test := range map[string]struct {
		backend  inMemory
		timeouts gateway.Timeouts
		sent     string
		status   int // 0 for no answer
		body     string
		after    time.Duration // of the first byte
	}{
		"an upload that never ends": {readAll, gateway.Timeouts{}, upload + "less", 408, "the request's body takes too long\n", time.Minute},
		"with a flag":               {readAll, short, upload + "less", 408, "the request's body takes too long\n", 7 * time.Second},
		"a client that is slower than a backend may be": {
			readAll, gateway.Timeouts{Read: 7 * time.Second, Backend: 2 * time.Second}, upload + "less", 408, "the request's body takes too long\n", 7 * time.Second,
		},
		"a backend that stops reading":         {readOne, short, upload + "all of it", 504, "the backend does not answer in time\n", 3 * time.Second},
		"an upload after the answer has begun": {slowAnswer, short, upload + "all of it", 200, "begun, ended", 0},
		"an upload that ends":                  {readAll, short, upload + "all of it", 200, "done", 8 * time.Second},
		"a backend that does not answer":       {stuck, gateway.Timeouts{}, get, 504, "the backend does not answer in time\n", 30 * time.Second},
		"with a flag for that":                 {stuck, short, get, 504, "the backend does not answer in time\n", 3 * time.Second},
		"a backend that does not read":         {stuck, short, upload + "all of it", 504, "the backend does not answer in time\n", 3 * time.Second},
		"an answer that takes an hour":         {slowAnswer, short, get, 200, "begun, ended", 0},
		"a connection without a next request":  {nil, short, "", 0, "", 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSiteBefore(t, document, gateway.Options{
					Backend: &url.URL{Scheme: "http", Host: "backend"}, Transport: test.backend, Timeouts: test.timeouts,
				})
				conn, start := s.send(test.sent), time.Now()
				defer conn.Close()
				status, body := readAnswer(conn)
				if after := s.firstByte(start); status != test.status || body != test.body || test.status != 0 && after != test.after {
					t.Errorf("answered %d after %v, %q; want %d after %v, %q", status, after, body, test.status, test.after, test.body)
				}
				if waited := time.Since(start); test.status == 0 && waited != test.after {
					t.Errorf("closed after %v, want %v", waited, test.after)
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
				endless := func(r *http.Request) (*http.Response, error) {
					body, w := io.Pipe()
					go func() {
						for freed.Load() == nil {
							if _, err := w.Write(make([]byte, 4096)); err != nil {
								now := time.Now()
								freed.Store(&now)
							}
						}
					}()
					answer := answerWith(r, body)
					answer.ContentLength = 1 << 40 // otherwise ReverseProxy waits for a mutex, which synctest takes for work
					return answer, nil
				}
				s := startSiteBefore(t, document, gateway.Options{
					Backend: &url.URL{Scheme: "http", Host: "backend"}, Transport: inMemory(endless), Timeouts: test.timeouts,
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

// readAnswer returns an answer; 0 if the connection closes before it.
func readAnswer(conn net.Conn) (status int, body string) {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	data, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data)
}

// firstByte returns the time from start to the first byte of an answer.
func (s *site) firstByte(start time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.reached) == 0 {
		return 0
	}
	_, after, _ := strings.Cut(s.reached[0], " ")
	d, _ := time.ParseDuration(after)
	return d - start.Sub(s.started)
}

// TestDrainTime: an answer that takes longer is cut off when the gateway stops.
func TestDrainTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSiteBefore(t, document, gateway.Options{Backend: &url.URL{Scheme: "http", Host: "backend"}, Transport: inMemory(slowAnswer)})
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
		time.Sleep(time.Hour) // the backend ends
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
	handler := gateway.New(gateway.Options{Authorizer: newAuthorizer(t, document, atNow, quiet), Log: quiet})
	go func() { stopped <- gateway.Serve(ctx, l, handler, gateway.Timeouts{}, gateway.HeaderSize) }()
	answer := exchange(t, l.Addr().String(), "POST /banned HTTP/1.1\nHost: x\nContent-Length: 1000000\n\n"+strings.Repeat("x", 100_000))
	if !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
		t.Errorf("answered\n%s", answer)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
