package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/gateway"
)

// inMemory is a backend without a network, so that a fake clock can pass.
type inMemory func(r *http.Request) (*http.Response, error)

func (b inMemory) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

func answerWith(r *http.Request, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(body), Request: r,
	}
}

// readAll is a backend that takes a second for each byte of the request.
func readAll(r *http.Request) (*http.Response, error) {
	for buffer := make([]byte, 1); ; {
		if _, err := r.Body.Read(buffer); err == io.EOF {
			return answerWith(r, strings.NewReader("done")), nil
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

// slowAnswer begins its answer at once, and ends it after an hour.
func slowAnswer(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "begun, ")
		time.Sleep(time.Hour)
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
		"an upload that never ends":           {readAll, gateway.Timeouts{}, upload + "less", 408, "the request's body takes too long\n", time.Minute},
		"with a flag":                         {readAll, short, upload + "less", 408, "the request's body takes too long\n", 7 * time.Second},
		"an upload that ends":                 {readAll, short, upload + "all of it", 200, "done", 8 * time.Second},
		"a backend that does not answer":      {stuck, gateway.Timeouts{}, get, 504, "the backend does not answer in time\n", 30 * time.Second},
		"with a flag for that":                {stuck, short, get, 504, "the backend does not answer in time\n", 3 * time.Second},
		"a backend that does not read":        {stuck, short, upload + "all of it", 504, "the backend does not answer in time\n", 3 * time.Second},
		"an answer that takes an hour":        {slowAnswer, short, get, 200, "begun, ended", 0},
		"a connection without a next request": {nil, short, "", 0, "", 7 * time.Second},
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
