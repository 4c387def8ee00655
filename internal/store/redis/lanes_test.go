package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
)

// TestHangingLanes: connections that no longer carry anything hold up the calls
// on them, and no others.
func TestHangingLanes(t *testing.T) {
	t.Parallel()
	var dialed atomic.Int64
	client, resume := paused(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if dialed.Add(1) <= lanes {
			c = &silent{c}
		}
		return c, err
	})
	resume()
	store := New(client, Options{OneServer: true})
	_, calls := begin(t, store, "k", lanes)
	pipelinedOf(store).maxWait = maxWait
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := store.Charge(ctx, time.Now(), hourly("k"), &limit.Verdict{}); err != nil {
			t.Error(err)
		}
	}
	if n := used(t, client, "k"); n != 3 {
		t.Errorf("%d units used, want 3", n)
	}
	client.Close()
	calls.Wait()
}

// silent is a connection that carries no script, and no answer to it.
type silent struct{ net.Conn }

func (c *silent) Write(b []byte) (int, error) {
	if len(b) > 100 { // more than the greeting
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestLostTogether: calls of one round trip whose answers are lost are not sent
// again, and the breaker counts them as one.
func TestLostTogether(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	client, resume := paused(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &lossy{Conn: c, calls: &sent}, err
	})
	store := New(client, Options{OneServer: true, Breaker: breaker.New(time.Now, func(breaker.Change) {})})
	errs, calls := begin(t, store, "k", 20)
	resume()
	calls.Wait()
	for i, err := range errs {
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := sent.Load(); n != lanes+1 {
		t.Errorf("20 calls were sent in %d parts, want %d", n, lanes+1)
	}
	healthy := goredis.NewClient(&goredis.Options{Addr: client.Options().Addr})
	defer healthy.Close()
	if n := used(t, healthy, "k"); n != 20 {
		t.Errorf("%d units used, want 20", n)
	}
	for failures := lanes + 1; failures <= 5; failures++ { // five open it
		err := store.Charge(t.Context(), time.Now(), hourly("k"), &limit.Verdict{})
		if open := errors.Is(err, breaker.ErrOpen); open != (failures == 5) {
			t.Errorf("after %d lost round trips: %v", failures, err)
		}
	}
}

// TestBreaker: five lost round trips open the breaker, and then no command is
// sent. Errors of the server do not open it, and a call whose failure another one
// reports says nothing about the server.
func TestBreaker(t *testing.T) {
	for _, test := range []struct {
		cause error
		calls int // until the breaker is open; 0 for never
	}{{io.EOF, 5}, {context.DeadlineExceeded, 5}, {serverError("OOM command not allowed"), 0}, {sharedError{io.EOF}, 0}} {
		store := New(failing{test.cause}, Options{Breaker: breaker.New(time.Now, func(breaker.Change) {})})
		for call := range 8 {
			err, want := store.Reset(t.Context(), "k"), test.calls > 0 && call >= test.calls
			if err == nil || errors.Is(err, breaker.ErrOpen) != want {
				t.Errorf("%v, call %d: %v, the breaker should be open: %v", test.cause, call, err, want)
			}
		}
	}
}
