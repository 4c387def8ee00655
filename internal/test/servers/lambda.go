package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// deadline is what the function gets for each event.
	deadline = 10 * time.Second
	// shutdown is what it gets after SIGTERM, by "Understanding the Lambda
	// execution environment lifecycle", if its only extension is its own.
	shutdown = 500 * time.Millisecond
)

// Lambda is the binary of a function, which runs before a local Lambda Runtime
// API. Of the Extensions API it has what a function registers itself by, to be
// told of its end.
type Lambda struct {
	command *exec.Cmd
	api     *httptest.Server
	asked   sync.Once
	ready   chan struct{} // closed when the function asks for its first event
	events  chan []byte
	answers chan answer
	ended   chan struct{} // closed after the function has ended

	registered atomic.Bool // an extension, so the function gets SIGTERM
}

type answer struct {
	body []byte
	err  error // if the function reported one
}

// StartLambda starts a command, with the address of a Runtime API of its own in its
// environment. A command without an Env gets that address alone.
func StartLambda(command *exec.Cmd) (*Lambda, error) {
	f := &Lambda{command: command, ready: make(chan struct{}), events: make(chan []byte), answers: make(chan answer, 1), ended: make(chan struct{})}
	f.api = httptest.NewServer(f)
	command.Env = append(command.Env, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(f.api.URL, "http://"))
	if err := command.Start(); err != nil {
		f.api.Close()
		return nil, fmt.Errorf("start the function: %w", err)
	}
	go func() {
		defer close(f.ended)
		_ = command.Wait()
	}()
	return f, nil
}

// Stop ends the function and its Runtime API.
func (f *Lambda) Stop() {
	_ = f.command.Process.Kill()
	<-f.ended
	f.api.CloseClientConnections()
	f.api.Close()
}

// Shutdown sends SIGTERM, as Lambda does to a function with an extension, and waits
// for the end as long as Lambda does. It fails if the function has registered no
// extension, or still runs then. Call Stop all the same.
func (f *Lambda) Shutdown() error {
	if !f.registered.Load() {
		return errors.New("the function has registered no extension, so it gets no SIGTERM")
	}
	if err := f.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-f.ended:
		return nil
	case <-time.After(shutdown):
		return fmt.Errorf("the function still runs %s after SIGTERM", shutdown)
	}
}

// PID returns the function's process.
func (f *Lambda) PID() int { return f.command.Process.Pid }

// Ready waits until the function asks for its first event.
func (f *Lambda) Ready(ctx context.Context) error {
	select {
	case <-f.ready:
		return nil
	case a := <-f.answers:
		return a.err
	case <-ctx.Done():
		return errors.New("the function asks for no event")
	}
}

// Invoke gives the function an event, and returns its answer.
func (f *Lambda) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case f.events <- event:
	case <-ctx.Done():
		return nil, errors.New("the function asks for no event")
	}
	select {
	case a := <-f.answers:
		return a.body, a.err
	case <-ctx.Done():
		return nil, errors.New("the function does not answer")
	}
}

// ServeHTTP follows "Using the Lambda runtime API for custom runtimes" and "Using
// the Lambda Extensions API to create extensions". An extension gets no events.
func (f *Lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/extension/register"):
		f.registered.Store(true)
		w.Header().Set("Lambda-Extension-Identifier", r.Header.Get("Lambda-Extension-Name"))
		_, _ = io.WriteString(w, "{}")
		return
	case strings.HasSuffix(r.URL.Path, "/extension/event/next"):
		<-r.Context().Done()
		return
	}
	if r.Method == http.MethodPost { // .../response or .../error
		body, err := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/error") {
			err = fmt.Errorf("the function fails: %s", bytes.TrimSpace(body))
		}
		w.WriteHeader(http.StatusAccepted)
		f.answers <- answer{body, err}
		return
	}
	f.asked.Do(func() { close(f.ready) })
	select {
	case event := <-f.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(deadline).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:hello")
		_, _ = w.Write(event)
	case <-r.Context().Done():
	}
}
