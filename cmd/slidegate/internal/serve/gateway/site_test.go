package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
)

// pipes is a network in memory: a synctest bubble must not wait for a real one.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- addressed{server}
	return client
}

// addressed is a connection from an address.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50_000} }

// site is a gateway on a fake clock. It records when it passes requests on.
type site struct {
	net     *pipes
	started time.Time
	log     bytes.Buffer
	stop    context.CancelFunc
	stopped chan error

	mu      sync.Mutex
	reached []string // path and the time since the start
}

// startSite serves rules until close, with the echo as backend.
func startSite(t *testing.T, document string, maxDelay time.Duration) *site {
	t.Helper()
	return startSiteBefore(t, document, gateway.Options{MaxDelay: maxDelay})
}

// startSiteBefore serves rules until close. o names the backend, and sets
// timeouts.
func startSiteBefore(t *testing.T, document string, o gateway.Options) *site {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &site{net: newPipes(), started: time.Now(), stop: stop, stopped: make(chan error, 1)}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	o.Decider, o.Log = newDecider(t, document, time.Now, log), log
	handler := gateway.New(o)
	go func() {
		s.stopped <- gateway.Server{Handler: recording{s, handler}, Timeouts: o.Timeouts, Log: log}.Serve(ctx, s.net)
	}()
	return s
}

func (s *site) close(t *testing.T) {
	t.Helper()
	s.stop()
	if err := <-s.stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// recording records when the gateway answers a request. The echo answers as
// soon as the gateway passes the request on.
type recording struct {
	site    *site
	gateway http.Handler
}

func (h recording) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.gateway.ServeHTTP(&recordingWriter{ResponseWriter: w, site: h.site, path: r.URL.Path}, r)
}

type recordingWriter struct {
	http.ResponseWriter
	site *site
	path string
	gone bool // the answer is for a client that has hung up
}

func (w *recordingWriter) WriteHeader(status int) {
	w.gone = status == http.StatusServiceUnavailable
	w.ResponseWriter.WriteHeader(status)
}

func (w *recordingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recordingWriter) Write(body []byte) (int, error) {
	if w.gone {
		return len(body), nil
	}
	w.site.mu.Lock()
	w.site.reached = append(w.site.reached, w.path+" "+time.Since(w.site.started).String())
	w.site.mu.Unlock()
	return w.ResponseWriter.Write(body)
}

// send sends text unchanged over a new connection.
func (s *site) send(text string) net.Conn {
	conn := s.net.dial()
	go func() { _, _ = io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")) }()
	return conn
}

// get sends a request, and returns the status, the fields and the time until
// the answer.
func (s *site) get(t *testing.T, path string) (int, http.Header, time.Duration) {
	t.Helper()
	sent := time.Now()
	conn := s.net.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Error(err)
		return 0, nil, 0
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return 0, nil, 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	return response.StatusCode, response.Header, time.Since(sent)
}
