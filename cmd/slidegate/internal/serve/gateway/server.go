package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
)

// Timeouts bound how long a client or the backend holds a connection. A value
// of 0 stands for the default. An answer that has begun may take any time.
type Timeouts struct {
	Read    time.Duration // from the start of a request to the end of its body
	Write   time.Duration // until the client takes a part of an answer, of 32 KB at most
	Idle    time.Duration // between two requests of a connection
	Backend time.Duration // until the backend takes a part of a request, or begins its answer after the last
}

// DefaultTimeouts are the defaults. API Gateway gives a backend 29 s. A load
// balancer of AWS keeps idle connections for 60 s, and must be the first to close
// one: a request that meets the end of its connection fails.
var DefaultTimeouts = Timeouts{Read: time.Minute, Write: time.Minute, Idle: 75 * time.Second, Backend: 30 * time.Second}

func (t Timeouts) withDefaults() Timeouts {
	return Timeouts{
		Read: cmp.Or(t.Read, DefaultTimeouts.Read), Write: cmp.Or(t.Write, DefaultTimeouts.Write),
		Idle: cmp.Or(t.Idle, DefaultTimeouts.Idle), Backend: cmp.Or(t.Backend, DefaultTimeouts.Backend),
	}
}

// impatient is a listener whose connections fail if the client does not take
// what is written within the timeout. http.Server.WriteTimeout would bound the
// whole answer, which may take any time.
type impatient struct {
	net.Listener
	timeout time.Duration
}

// Accept waits for a connection.
func (l impatient) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return impatientConn{conn, l.timeout}, err
}

type impatientConn struct {
	net.Conn
	timeout time.Duration
}

// Write gives the client the timeout for this part. net/http writes at most
// 32 KB at once.
func (c impatientConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite lets net/http deliver a last answer before it closes a connection
// that the client still sends on.
func (c impatientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// backendIdle is how long a connection to the backend waits for its next request.
// Servers close theirs after 5 seconds or more, and a request that meets the end
// of its connection fails.
const backendIdle = 4 * time.Second

// newTransport returns a transport that uses no proxy of the environment, and asks
// for no compression that the client has not asked for. It speaks HTTP/1.1. The
// timeout bounds each step of the backend, not the client's upload, and not the
// answer once it has begun.
func newTransport(timeout time.Duration, dial func(ctx context.Context, network, address string) (net.Conn, error)) http.RoundTripper {
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout}).DialContext
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return impatientConn{conn, timeout}, err
		},
		Protocols: new(http.Protocols), DisableCompression: true,
		TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: math.MaxInt, IdleConnTimeout: backendIdle, // as many as there were requests at a time
	}
	t.Protocols.SetHTTP1(true)
	return t
}

const (
	// drainTime bounds how long requests under way may take when the gateway
	// stops. A delayed request still gets its answer.
	drainTime = rules.LongestHold + 5*time.Second
	// headerTime bounds how long the header of a request may take.
	headerTime = 10 * time.Second
)

// HeaderSize is the default of Server.HeaderSize. API Gateway has the same.
const HeaderSize = 10 << 10

// Server serves a handler by HTTP/1.1.
type Server struct {
	Handler    http.Handler
	Timeouts   Timeouts
	HeaderSize int // bounds the header of a request, in bytes; 0 for the default
	Log        *slog.Logger
}

// Serve serves the listener until the context ends. It then lets requests under
// way finish, for drainTime.
func (s Server) Serve(ctx context.Context, l net.Listener) error {
	t := s.Timeouts.withDefaults()
	server := &http.Server{
		ErrorLog: stdlog.New(freeText{oplog.Throttle(s.Log), "a connection failed"}, "", 0),
		Handler:  s.Handler, DisableGeneralOptionsHandler: true, // bans and rules apply to "OPTIONS *" too
		ReadHeaderTimeout: min(headerTime, t.Read), ReadTimeout: t.Read, IdleTimeout: t.Idle, MaxHeaderBytes: cmp.Or(s.HeaderSize, HeaderSize),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(impatient{l, t.Write}) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := server.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close()
		err = fmt.Errorf("requests were under way for %v after the end, and were cut off", drainTime)
	}
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		return stopped
	}
	return err
}
