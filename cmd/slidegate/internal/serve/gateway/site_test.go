package gateway_test

import (
	"context"
	"io"
	"net"
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

// site is a gateway on a fake clock.
type site struct {
	net     *pipes
	started time.Time
	stop    context.CancelFunc
	stopped chan error
}

// startSite serves rules until close. o names the backend, and sets timeouts.
func startSite(t *testing.T, document string, o gateway.Options) *site {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &site{net: newPipes(), started: time.Now(), stop: stop, stopped: make(chan error, 1)}
	o.Decider, o.Log = newDecider(t, document, time.Now, quiet), quiet
	handler := gateway.New(o)
	go func() {
		s.stopped <- gateway.Server{Handler: handler, Timeouts: o.Timeouts, Log: quiet}.Serve(ctx, s.net)
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

// send sends text unchanged over a new connection.
func (s *site) send(text string) net.Conn {
	conn := s.net.dial()
	go func() { _, _ = io.WriteString(conn, strings.ReplaceAll(text, "\n", "\r\n")) }()
	return conn
}
