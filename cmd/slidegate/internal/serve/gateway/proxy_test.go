package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

const generous = "rules: [{name: all, key: all, limit: 100000/minute}]"

// TestQueriesAsSent: the backend gets a query byte for byte. A parameter that
// servers read in several ways denies the request if a rule counts by it.
func TestQueriesAsSent(t *testing.T) {
	f := serveBefore(t, `
ambiguous_paths: clean
rules:
  - {name: team, when: {path: /by/key}, key: "team:{query.team}", limit: 100/minute}
  - {name: costly, when: {path: /by/cost}, key: all, cost: {from: query.n, min: 1, max: 5}, limit: 1000/minute}
  - {name: tried, mode: shadow, key: "team:{query.team}", limit: 100/minute}
`, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "at "+r.RequestURI) })
	for _, test := range []struct {
		target string
		denied bool
	}{
		{"/find?sort=name;asc&page=3", false},
		{"/find?q=a+b%20c", false},
		{"/find?q=%zz&r=%&&;=&a=%00", false},
		{"/find?", false},
		{"/find??x", false},
		{"/find?team=a;b", false}, // a shadow rule alone counts by it
		{"/by/key?sort=name;asc&team=a", false},
		{"/by/key?team=a%3Bb%23c%25", false},
		{"/by/key?team=a;b", true},
		{"/by/key?x=1;team=a", true},
		{"/by/key?x;te%61m=a", true},
		{"/by/key?team=%zz", true},
		{"/by/key?team=a%00b", true},
		{"/by/key?team%00=a", true},
		{"/by/key?x=1#y&team=a", true},
		{"/by/cost?n=1;n=2", true},
		{"/by/cost?n=1%", true},
		{"/by/cost?m=1;2&n=1", false},
	} {
		want := "at " + test.target
		if test.denied {
			want = "HTTP/1.1 400 "
		}
		if answer := exchange(t, f.address, "GET "+test.target+" HTTP/1.1\nHost: x\nConnection: close\n\n"); !strings.Contains(answer+"\n", want) {
			t.Errorf("%s is answered\n%s", test.target, answer)
		}
	}
}

// TestProxyBeforeTheGateway: what a proxy says of its client reaches the backend
// if the rules trust the proxy. Other clients cannot say it. The peer is appended to
// the addresses that rules read, and no Accept-Encoding is added.
func TestProxyBeforeTheGateway(t *testing.T) {
	t.Setenv("EDGE", "secret of the edge")
	backend := func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "Forwarded", "X-Forwarded-For", "Accept-Encoding"} {
			_, _ = fmt.Fprint(w, strings.Join(r.Header[name], "+"), "|")
		}
	}
	const stated = "X-Forwarded-Proto: https\nX-Forwarded-Host: shop.example\nX-Forwarded-Port: 443\nForwarded: proto=https\n"
	const header = "client_ip: {header: x-client, secret: {header: x-edge, env: EDGE}}\n"
	for _, test := range []struct{ rules, fields, want string }{
		{"", "", "http|x|PORT||"},
		{"", stated, "http|x|PORT||"},
		{"", "X-Forwarded-For: 203.0.113.9, 198.51.100.2\n", "http|x|PORT||203.0.113.9, 198.51.100.2, "},
		{"client_ip: {trusted_hops: 1}\n", stated, "https|shop.example|443|proto=https|"},
		{"client_ip: {trusted_hops: 1}\n", "X-Forwarded-Proto: https\n", "https|x|PORT||"},
		{"client_ip: {trusted_hops: 2, header: forwarded}\n", stated, "https|shop.example|443|proto=https|"},
		{header, stated, "http|x|PORT||"},
		{header, "X-Edge: guessed\n" + stated, "http|x|PORT||"},
		{header, "X-Edge: secret of the edge\n" + stated, "https|shop.example|443|proto=https|"},
	} {
		f := serveBefore(t, test.rules+generous, backend)
		_, port, _ := net.SplitHostPort(f.address)
		want := strings.ReplaceAll(test.want, "PORT", port) + "127.0.0.1||"
		if answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nConnection: close\n"+test.fields+"\n"); !strings.HasSuffix(answer, "\r\n\r\n"+want) {
			t.Errorf("%q, %q: want %s, answered\n%s", test.rules, test.fields, want, answer)
		}
	}
}

// TestRedirects: a URL of the backend's own address leads the client back to the
// gateway, as the client reached it. Others stay.
func TestRedirects(t *testing.T) {
	const here = "http://gate.example:8080"
	for _, test := range []struct{ backend, field, value, want string }{
		{"http://b:9000", "Location", "http://b:9000/dir/", here + "/dir/"},
		{"http://b:9000", "Location", "HTTP://B:9000", here},
		{"http://b:9000", "Location", "//b:9000/dir/?x=1", here + "/dir/?x=1"},
		{"http://b:9000", "Location", "http://b:90001/dir/", "http://b:90001/dir/"},
		{"http://b:9000", "Location", "http://b/dir/", "http://b/dir/"},
		{"http://b:9000", "Location", "https://b:9000/dir/", "https://b:9000/dir/"},
		{"http://b:9000", "Location", "http://b:9000.evil.example/", "http://b:9000.evil.example/"},
		{"http://b:9000", "Location", "https://login.example/?to=http://b:9000/", "https://login.example/?to=http://b:9000/"},
		{"http://b", "Location", "http://b:80/dir/", here + "/dir/"},
		{"http://b:80", "Location", "http://b/dir/", here + "/dir/"},
		{"http://[::1]:9000", "Location", "http://[::1]:9000/dir/", here + "/dir/"},
		{"http://b:9000", "Content-Location", "http://b:9000/dir/", here + "/dir/"},
		{"http://b:9000", "Refresh", "5; url=http://b:9000/dir/", "5; url=" + here + "/dir/"},
		{"http://b:9000", "Link", `</a>; rel=prev, <http://b:9000/c>; rel=next`, `</a>; rel=prev, <` + here + `/c>; rel=next`},
		{"http://b:9000", "X-Other", "http://b:9000/dir/", "http://b:9000/dir/"},
	} {
		synctest.Test(t, func(t *testing.T) {
			to, err := url.Parse(test.backend)
			if err != nil {
				t.Fatal(err)
			}
			dial := dialed(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(test.field, test.value) })
			h := gateway.New(gateway.Options{Decider: newDecider(t, generous, time.Now, quiet), Backend: to, Dial: dial, Log: quiet})
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/dir", nil)
			r.Host = "gate.example:8080"
			h.ServeHTTP(w, r)
			if got := w.Header().Get(test.field); got != test.want {
				t.Errorf("%s: %s %q becomes %q, want %q", test.backend, test.field, test.value, got, test.want)
			}
		})
	}
}

// TestHosts: the backend gets its own Host, or by choice the client's.
func TestHosts(t *testing.T) {
	for pass, want := range map[bool]string{false: "backend", true: "shop.example"} {
		synctest.Test(t, func(t *testing.T) {
			var host string
			dial := dialed(t, func(_ http.ResponseWriter, r *http.Request) { host = r.Host })
			o := gateway.Options{Decider: newDecider(t, generous, time.Now, quiet), Backend: &url.URL{Scheme: "http", Host: "backend"}, PassHost: pass, Dial: dial, Log: quiet}
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.Host = "shop.example"
			gateway.New(o).ServeHTTP(httptest.NewRecorder(), r)
			if host != want {
				t.Errorf("passes on %q, want %q", host, want)
			}
		})
	}
}

// TestConnectionsToTheBackend: as many connections stay open as there were
// requests at a time.
func TestConnectionsToTheBackend(t *testing.T) {
	const clients, rounds = 20, 10
	var opened atomic.Int64
	var together *sync.WaitGroup
	behind := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		together.Done()
		together.Wait()
	}))
	behind.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	behind.Start()
	defer behind.Close()
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := gateway.New(gateway.Options{Decider: newDecider(t, generous, time.Now, quiet), Backend: target, Log: quiet})
	for range rounds {
		together = &sync.WaitGroup{}
		together.Add(clients)
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)); w.Code != http.StatusOK {
					t.Errorf("status %d", w.Code)
				}
			})
		}
		all.Wait()
	}
	if n := opened.Load(); n > 2*clients {
		t.Errorf("%d connections for %d requests, %d at a time", n, clients*rounds, clients)
	}
}

// TestIdleConnections: a connection of a load balancer, which it keeps for a minute,
// is open for longer. One to a backend is closed before the backend would.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reached []string
		dial := dialed(t, func(_ http.ResponseWriter, r *http.Request) { reached = append(reached, r.RemoteAddr) })
		dials := 0
		s := startSite(t, generous, gateway.Options{
			Backend: &url.URL{Scheme: "http", Host: "backend"},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return dial(ctx, network, address)
			},
		})
		conn := s.net.dial()
		defer conn.Close()
		answers := bufio.NewReader(conn)
		for i, pause := range []time.Duration{0, 3 * time.Second, 60*time.Second + 200*time.Millisecond, 5 * time.Second} {
			time.Sleep(pause)
			go func() { _, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx") }()
			answer, err := http.ReadResponse(answers, nil)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("request %d, after %v: %v, error %v", i, pause, answer, err)
			}
			answer.Body.Close()
		}
		if len(reached) != 4 || dials != 3 { // not for the second request
			t.Errorf("%d requests by %d connections to the backend", len(reached), dials)
		}
		last := time.Now()
		if _, err := answers.ReadByte(); err != io.EOF || time.Since(last) != gateway.DefaultTimeouts.Idle {
			t.Errorf("closed after %v, error %v", time.Since(last), err)
		}
		s.close(t)
	})
}

// TestTwoWays: a client sends more after the answer has begun, and the backend gets
// it.
func TestTwoWays(t *testing.T) {
	f := serveBefore(t, generous, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(w, r.Body)
	})
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "later")
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "later" {
		t.Errorf("answered %q, error %v", body, err)
	}
}

// TestUnreadUploads: a backend that answers without a look at an upload does not
// cost the client its connection.
func TestUnreadUploads(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // HTTP/1.0, as many servers in Python speak it
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, "HTTP/1.0 501 No\r\nContent-Length: 2\r\n\r\nno")
			conn.Close()
		}
	}()
	s := &front{}
	log := slog.New(slog.NewTextHandler(s, nil))
	outer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	h := gateway.New(gateway.Options{Decider: newDecider(t, generous, time.Now, quiet), Backend: &url.URL{Scheme: "http", Host: l.Addr().String()}, Log: quiet})
	go func() { _ = gateway.Server{Handler: h, Log: log}.Serve(ctx, outer) }()
	conn, err := net.Dial("tcp", outer.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	answers := bufio.NewReader(conn)
	for i := range 20 {
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
		answer, err := http.ReadResponse(answers, nil)
		if err != nil || answer.StatusCode != http.StatusNotImplemented {
			t.Fatalf("request %d: %v, error %v; logged %s", i, answer, err, s.logged())
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_, _ = io.WriteString(conn, "later")
	}
	if s.logged() != "" {
		t.Errorf("logged %s", s.logged())
	}
}

// TestEarlyHints: the answer after early hints still has the limiter's fields.
func TestEarlyHints(t *testing.T) {
	f := serveBefore(t, generous, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Ratelimit", "forged")
	})
	if answer := exchange(t, f.address, "GET / HTTP/1.1\nHost: x\nConnection: close\n\n"); !strings.Contains(answer, "\r\nRatelimit: \"all\";r=99999;t=61\r\n") {
		t.Errorf("answered\n%s", answer)
	}
}
