package limithttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/limithttp"
)

// TestRefundOn answers in all the ways in which a handler can, over real
// connections. What a refunded request took is there again.
func TestRefundOn(t *testing.T) {
	for name, test := range map[string]struct {
		handler  http.HandlerFunc
		statuses []string
		refunded bool
	}{
		"a status":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, []string{"404"}, true},
		"another status":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, []string{"403", "5xx"}, false},
		"a class":                {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, []string{"5xx"}, true},
		"the first status":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.WriteHeader(500) }, []string{"5xx"}, false},
		"early hints":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(500) }, []string{"5xx"}, true},
		"nothing":                {func(http.ResponseWriter, *http.Request) {}, []string{"200"}, true},
		"a body alone":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, []string{"200"}, true},
		"a file":                 {func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "doc.go") }, []string{"200"}, true},
		"no file":                {func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "none") }, []string{"404"}, true},
		"a flush":                {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, []string{"200"}, true},
		"a flush of another":     {func(w http.ResponseWriter, _ *http.Request) { flush(t, w); w.WriteHeader(500) }, []string{"5xx"}, false},
		"a panic":                {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, []string{"2xx", "5xx"}, false},
		"a panic after a status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); panic(http.ErrAbortHandler) }, []string{"5xx"}, true},
		"a connection hijacked":  {hijack(t, ""), []string{"1xx", "2xx", "5xx"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			lim := mustNew(t, slidegate.SlidingWindow(5, time.Minute))
			finished := make(chan bool, 1)
			h := limithttp.Middleware(lim, limithttp.ByKey(func(*http.Request) string { return "key" }), limithttp.RefundOn(test.statuses...))(test.handler)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { finished <- true }()
				h.ServeHTTP(w, r)
			}))
			defer server.Close()
			if r, err := server.Client().Get(server.URL); err == nil {
				r.Body.Close()
			}
			<-finished
			if r, err := lim.Peek(t.Context(), "key"); err != nil || (r.Remaining == 5) != test.refunded {
				t.Errorf("%d left, %v; refunded should be %t", r.Remaining, err, test.refunded)
			}
		})
	}
}

// flush flushes by an http.ResponseController, which finds the connection
// through the middleware.
func flush(t *testing.T, w http.ResponseWriter) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Error(err)
	}
}

// hijack answers in its own words, as websocket libraries do: with this word, and
// with a line that it reads if there is one.
func hijack(t *testing.T, word string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffers, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fields := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
		line := ""
		if word != "" {
			line, _ = buffers.ReadString('\n')
		}
		_, _ = buffers.WriteString(fields + word + line)
		_ = buffers.Flush()
	}
}

// TestWebsocket: a handler takes the connection over, through two middlewares.
func TestWebsocket(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(5, time.Minute))
	limited := limithttp.Middleware(lim)
	for name, handler := range map[string]http.HandlerFunc{
		"by an assertion": hijack(t, "echo "),
		"by a controller": func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
			hijack(t, "echo ")(w, r)
		},
	} {
		server := httptest.NewServer(limited(limited(handler)))
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello\n")
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasSuffix(string(got), "\r\n\r\necho hello\n") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		conn.Close()
		server.Close()
	}
}

// TestStream: a client gets each part of a streamed answer as it is flushed,
// with the fields in its head, over HTTP/1.1 and HTTP/2.
func TestStream(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(50, time.Minute))
	next := make(chan bool)
	h := limithttp.Middleware(lim)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	for _, version := range []int{1, 2} {
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2 = version == 2
		server.StartTLS()
		r, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if r.ProtoMajor != version || r.Header.Get("RateLimit") == "" || r.Header.Get("Access-Control-Expose-Headers") == "" {
			t.Errorf("HTTP/%d: fields %v", r.ProtoMajor, r.Header)
		}
		lines := bufio.NewReader(r.Body)
		for i := range 3 {
			if line, err := lines.ReadString('\n'); line != fmt.Sprintf("data: %d\n", i) {
				t.Errorf("HTTP/%d: got %q, %v", version, line, err)
			}
			next <- true
		}
		r.Body.Close()
		server.Close()
	}
}

// TestOldClients: HTTP/1.0 has no statuses below 200.
func TestOldClients(t *testing.T) {
	lim := mustNew(t, slidegate.SlidingWindow(1, time.Minute))
	server := httptest.NewServer(limithttp.Middleware(lim)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "ok")
	})))
	defer server.Close()
	for _, want := range []string{"HTTP/1.0 200 OK\r\n", "HTTP/1.0 429 Too Many Requests\r\n"} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), want) || !strings.Contains(string(got), "\r\nRatelimit: ") {
			t.Errorf("got\n%s\n%v", got, err)
		}
		conn.Close()
	}
}

// TestCosts: handlers report what a request cost, in the head or the trailer,
// and clients do not see it.
func TestCosts(t *testing.T) {
	source, err := rulesfile.Parse("rules.yaml", `
rules:
  - name: chat
    key: all
    limits: [{name: tokens, capacity: 1000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}}]
`)
	if err != nil {
		t.Fatal(err)
	}
	const trailer = http.TrailerPrefix + "Slidegate-Cost"
	set := func(w http.ResponseWriter, field, cost string) { w.Header().Add(field, cost) }
	for name, test := range map[string]struct {
		handler func(http.ResponseWriter)
		left    string // of 1000, after a request of 1 more
	}{
		"in the head": {func(w http.ResponseWriter) { set(w, "Slidegate-Cost", "chat.tokens=30") }, "969"},
		"in the head of an answer that is flushed": {func(w http.ResponseWriter) {
			set(w, "Slidegate-Cost", "chat.tokens=30")
			flush(t, w)
		}, "969"},
		"in a trailer": {func(w http.ResponseWriter) {
			set(w, "Trailer", "Slidegate-Cost")
			_, _ = io.WriteString(w, "x")
			set(w, "Slidegate-Cost", "chat.tokens=30")
		}, "969"},
		"in a trailer that was not announced": {func(w http.ResponseWriter) {
			flush(t, w)
			set(w, trailer, "chat.tokens=30")
		}, "969"},
		"in several values, after early hints": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			set(w, "Slidegate-Cost", "x=1")
			set(w, "Slidegate-Cost", "chat.tokens=30")
			w.WriteHeader(http.StatusInternalServerError)
		}, "969"},
		"in the head and a trailer, which is the last": {func(w http.ResponseWriter) {
			set(w, "Slidegate-Cost", "chat.tokens=20")
			_, _ = io.WriteString(w, "x")
			set(w, trailer, "chat.tokens=30")
		}, "969"},
		"with a file": {func(w http.ResponseWriter) {
			set(w, "Slidegate-Cost", "chat.tokens=30")
			_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("x"))
		}, "969"},
		"nowhere":           {func(http.ResponseWriter) {}, "599"},
		"after a panic":     {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "599"},
		"more than was due": {func(w http.ResponseWriter) { set(w, "Slidegate-Cost", "chat.tokens=900") }, "99"},
	} {
		t.Run(name, func(t *testing.T) {
			limit := limithttp.GateMiddleware(mustGate(t, source))
			finished := make(chan bool, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { finished <- true }()
				limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { test.handler(w) })).ServeHTTP(w, r)
			}))
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Tokens", "400")
			if r, err := server.Client().Do(request); err == nil {
				_, _ = io.ReadAll(r.Body)
				r.Body.Close()
				if r.Header.Get("Slidegate-Cost")+r.Trailer.Get("Slidegate-Cost")+r.Header.Get("Trailer") != "" {
					t.Errorf("the client sees %v and %v", r.Header, r.Trailer)
				}
			}
			<-finished
			if left := sendTo(limit(okay), "GET", "/", "X-Tokens: 0").Header.Get("X-RateLimit-Remaining"); left != test.left { // takes the least, 1
				t.Errorf("%s left after one more, want %s", left, test.left)
			}
		})
	}
}
