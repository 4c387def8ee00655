package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// front is a gateway before a backend, with its log.
type front struct {
	address string
	handled sync.WaitGroup // requests in progress

	mu  sync.Mutex
	log bytes.Buffer
}

func (f *front) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(line)
}

func (f *front) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

// serveBefore starts a gateway before a backend.
func serveBefore(t *testing.T, document string, backend http.HandlerFunc) *front {
	t.Helper()
	behind := httptest.NewServer(backend)
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	log := slog.New(slog.NewTextHandler(f, nil))
	inner := gateway.New(gateway.Options{Decider: newDecider(t, document, atNow, log), Backend: target, Log: log})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.handled.Add(1)
		defer f.handled.Done()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.address = server.Listener.Addr().String()
	return f
}

// exchange sends text unchanged, and returns everything that the gateway sends
// until it closes the connection.
func exchange(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestHiddenTargets sends request targets that hide another one. The backend
// gets the target that the rules saw.
func TestHiddenTargets(t *testing.T) {
	var mu sync.Mutex
	var got []string
	f := serveBefore(t, "deny: [{path: /admin/**}]\nrules: [{name: all, key: all, limits: [{capacity: 100, window: 60s}]}]",
		func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.RequestURI)
		})
	for target, want := range map[string]string{
		"/x?y":                            "/x?y",
		"http://elsewhere/x":              "/x",
		"http://elsewhere/admin/x":        "",
		"http:admin/x":                    "/",
		"x:http://elsewhere/admin/x":      "/",
		"x:http://elsewhere/admin/x?y":    "/?y",
		"x:a//elsewhere/admin/x":          "/",
		"x://elsewhere/admin/x":           "",
		"http://a:b@elsewhere/x#/admin/x": "", // ambiguous
	} {
		got = nil
		exchange(t, f.address, "GET "+target+" HTTP/1.1\nHost: x\nConnection: close\n\n")
		if passed := strings.Join(got, " "); passed != want {
			t.Errorf("%s is passed on as %q, want %q", target, passed, want)
		}
	}
}

// TestUpgrades: the gateway passes on upgrades to WebSocket only, because no
// rule sees the requests of other protocols.
func TestUpgrades(t *testing.T) {
	f := serveBefore(t, "rules: [{name: all, key: all, limits: [{capacity: 100, window: 60s}]}]", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			_, _ = fmt.Fprintf(w, "no upgrade%s%s", r.Header.Get("Connection"), r.Header.Get("Http2-Settings"))
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSlidegate-Cost: all=1\r\n\r\nswitched", r.Header.Get("Upgrade"))
		_ = rw.Flush()
	})
	for _, test := range []struct{ fields, want string }{
		{"Connection: Upgrade\nUpgrade: websocket", "switched"},
		{"Connection: Upgrade\nUpgrade: WebSocket", "switched"},
		{"Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "no upgrade"},
		{"Connection: Upgrade\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "no upgrade"},
		{"Connection: Upgrade\nUpgrade: websocket, h2c", "no upgrade"},
		{"Connection: Upgrade\nUpgrade: TLS/1.0", "no upgrade"},
	} {
		answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nConnection: close\n"+test.fields+"\n\n")
		head, body, _ := strings.Cut(answer, "\r\n\r\n")
		if body != test.want || strings.Contains(head, "Slidegate-Cost") {
			t.Errorf("%s: answered\n%s", test.fields, answer)
		}
	}
}

// TestBrokenOff: clients that break off their request after it has reached the
// backend, or hang up before the end of its answer, get no refund, are charged the
// most that the request may cost, and cause no failure of the backend.
func TestBrokenOff(t *testing.T) {
	for name, test := range map[string]struct {
		sent   string
		answer int // 0 for a client that does not wait for an answer
	}{
		"a body too short, then a hang-up": {"Content-Length: 10\n\nhello", 0},
		"chunks that break off":            {"Transfer-Encoding: chunked\n\n5\nhello\n", 0},
		"invalid chunks":                   {"Transfer-Encoding: chunked\n\n5\nhello\nzz\n", http.StatusBadRequest},
		"a chunk longer than its size":     {"Transfer-Encoding: chunked\n\n5\nhello world\n0\n\n", http.StatusBadRequest},
		"a hang-up before the answer":      {"X-Answer: late\nContent-Length: 5\n\nhello", 0},
		"a hang-up after its beginning":    {"X-Answer: begun\nContent-Length: 5\n\nhello", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			reached := make(chan bool)
			f := serveBefore(t, `
rules:
  - {name: work, when: {path: /work}, key: all, limits: [{capacity: 3, window: 1h}], refund_on: [4xx, 5xx]}
  - {name: chat, when: {path: /work}, key: all, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}, limits: [{capacity: 1000, window: 1h}]}
`, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					return
				}
				_, _ = io.ReadFull(r.Body, make([]byte, 5))
				wait := r.Header.Get("X-Answer")
				if wait == "begun" {
					w.Header().Set("Trailer", "Slidegate-Cost")
					_, _ = io.WriteString(w, "once upon a time")
					_ = http.NewResponseController(w).Flush()
				}
				reached <- true
				_, _ = io.Copy(io.Discard, r.Body)
				if wait != "" {
					<-r.Context().Done()
					w.Header().Set("Slidegate-Cost", "chat=1")
				}
			})
			for range 2 {
				conn, err := net.Dial("tcp", f.address)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.WriteString(conn, strings.ReplaceAll("POST /work HTTP/1.1\nHost: x\nX-Tokens: 1\n"+test.sent, "\n", "\r\n"))
				<-reached
				if test.answer != 0 {
					if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != test.answer {
						t.Errorf("answered %v, error %v", answer, err)
					}
				}
				conn.Close()
				f.handled.Wait()
			}
			if strings.Contains(f.logged(), "backend failed") {
				t.Errorf("logged %s", f.logged())
			}
			answer := exchange(t, f.address, "GET /work HTTP/1.1\nHost: x\nX-Tokens: 1\nConnection: close\n\n")
			if !strings.Contains(answer, `"work";r=0;`) || !strings.Contains(answer, `"chat";r=199;`) { // twice the maximum cost
				t.Errorf("after two such requests, the next is answered\n%s", answer)
			}
		})
	}
}

// TestStopsSending: a client that stops sending and waits must not get an
// answer that looks like the backend's.
func TestStopsSending(t *testing.T) {
	reached := make(chan bool)
	f := serveBefore(t, "rules: [{name: all, key: all, limits: [{capacity: 100, window: 60s}]}]", func(_ http.ResponseWriter, r *http.Request) {
		reached <- true
		<-r.Context().Done()
	})
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-reached
	_ = conn.(*net.TCPConn).CloseWrite()
	if answer, err := io.ReadAll(conn); err != nil || len(answer) > 0 {
		t.Errorf("error %v, answered %q", err, answer)
	}
}

// TestIdleClients: the gateway closes idle connections. It answers denied uploads
// before their end, and closes the connections of clients that do not send the rest.
func TestIdleClients(t *testing.T) {
	const timeout = 2 * time.Minute
	for name, sent := range map[string]string{
		"nothing":              "",
		"half a head":          "GET / HTTP/1.1\nHost",
		"nothing more":         "GET /banned HTTP/1.1\nHost: x\n\n",
		"less than announced":  "POST /banned HTTP/1.1\nHost: x\nContent-Length: 9\n\nless",
		"less than its chunks": "POST /banned HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n9\nless",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSite(t, document, gateway.Options{})
				conn := s.send(sent)
				defer conn.Close()
				_ = conn.SetReadDeadline(time.Now().Add(timeout))
				from := bufio.NewReader(conn)
				if strings.Contains(sent, "banned") {
					answer, err := http.ReadResponse(from, nil)
					if err != nil || answer.StatusCode != http.StatusForbidden || answer.Close != strings.HasSuffix(sent, "less") || time.Since(s.started) > 0 {
						t.Errorf("answered %+v after %v, error %v", answer, time.Since(s.started), err)
					}
				}
				if rest, err := io.ReadAll(from); err != nil {
					t.Errorf("after %v: %v, answered\n%s", time.Since(s.started), err, rest)
				}
				if waited := time.Since(s.started); name == "half a head" && waited != 10*time.Second {
					t.Errorf("closed after %v", waited)
				}
				s.close(t)
			})
		})
	}
}
