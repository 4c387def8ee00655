package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Timeouts bound how long a client or the backend holds a connection. A value
// of 0 stands for the default. An answer that has begun may take any time.
type Timeouts struct {
	Read    time.Duration // from the start of a request to the end of its body
	Write   time.Duration // until the client takes a part of an answer, of 32 KB at most
	Idle    time.Duration // between two requests of a connection
	Backend time.Duration // until the backend takes more of a request, or begins its answer
}

// DefaultTimeouts are the defaults. API Gateway gives a backend 29 s.
var DefaultTimeouts = Timeouts{Read: time.Minute, Write: time.Minute, Idle: time.Minute, Backend: 30 * time.Second}

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

var (
	// errBrokenUpload is the error of a client that does not send its whole
	// request.
	errBrokenUpload = errors.New("the client's body")
	// errSlowBackend is the error of a backend that exceeds Timeouts.Backend.
	errSlowBackend = errors.New("the backend takes too long; see --backend-timeout")
)

// patient is a RoundTripper that gives a backend so long to take more of a
// request or to begin its answer. The time that a client takes to send its body
// does not count.
type patient struct {
	http.RoundTripper
	timeout time.Duration
}

// RoundTrip fails with errSlowBackend or errBrokenUpload if one of the two is
// too slow.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	// The context lives as long as the client's request: the answer's body needs it.
	ctx, cancel := context.WithCancelCause(r.Context())
	w := &wait{timeout: p.timeout, timer: time.AfterFunc(p.timeout, func() { cancel(errSlowBackend) })}
	r = r.WithContext(ctx)
	if r.Body != nil {
		r.Body = upload{r.Body, w}
	}
	response, err := p.RoundTripper.RoundTrip(r)
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlowBackend) {
		w.awaitRead()
	}
	broken := w.end()
	switch {
	case err == nil:
	case broken != nil: // net/http also cancels the request then
		err = broken
	case errors.Is(context.Cause(ctx), errSlowBackend):
		err = errSlowBackend
	}
	return response, err
}

// wait is the time that a backend still has.
type wait struct {
	mu      sync.Mutex
	timeout time.Duration
	timer   *time.Timer   // nil after the end
	broken  error         // why the client's body ended before its end
	reading chan struct{} // closed when the read of the client's body under way ends; nil for none
}

// readEnds is how long a read of the client's body goes on, at most, after it
// has failed within net/http.
const readEnds = time.Second

// awaitRead waits for the read under way. net/http cancels a request before it
// returns the error of the client's body, so the transport may be the first to
// return, and would hide why.
func (w *wait) awaitRead() {
	w.mu.Lock()
	reading := w.reading
	w.mu.Unlock()
	if reading == nil {
		return
	}
	timer := time.NewTimer(readEnds)
	defer timer.Stop()
	select {
	case <-reading:
	case <-timer.C:
	}
}

func (w *wait) end() (broken error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
	return w.broken
}

// pause stops the timer, and resume restarts it, until the end. broken is the
// error of the client's body.
func (w *wait) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = make(chan struct{})
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *wait) resume(broken error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = broken
	close(w.reading)
	w.reading = nil
	if w.timer != nil {
		w.timer.Reset(w.timeout)
	}
}

// upload is the body of a request. It marks the errors of a client that does not
// send the whole body, so that they differ from a backend's errors.
type upload struct {
	io.ReadCloser
	backend *wait
}

func (u upload) Read(p []byte) (int, error) {
	u.backend.pause()
	n, err := u.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		u.backend.resume(nil)
		return n, err
	}
	err = fmt.Errorf("%w: %w", errBrokenUpload, err)
	u.backend.resume(err)
	return n, err
}
