package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// hourly is a charge of one unit of 100 an hour.
func hourly(key string) *limit.Charge {
	return &limit.Charge{Key: key, Costs: []int64{1}, Limits: []limit.Limit{{Capacity: 100, Window: time.Hour, Granularity: time.Hour}}}
}

// paused starts a server that has the script and runs none until resume is called,
// and a client of it that repeats its user's own commands.
func paused(t *testing.T, dialer func(context.Context, string, string) (net.Conn, error)) (client *goredis.Client, resume func()) {
	t.Helper()
	server := servers.StartRedis(t)
	o := parse(t, server.URL()).options.Simple()
	o.Dialer, o.ReadTimeout, o.MaxRetries = dialer, time.Minute, 3
	client = goredis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	if err := server.Client.ScriptLoad(t.Context(), scriptOf(1<<slots).source).Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Do(t.Context(), "client", "pause", "60000", "write").Err(); err != nil {
		t.Fatal(err)
	}
	return client, func() {
		if err := server.Client.Do(t.Context(), "client", "unpause").Err(); err != nil {
			t.Error(err)
		}
	}
}

// begin starts n charges of a key, one after another, and returns when all are
// under way or wait. The errors are there when the group is done.
func begin(t *testing.T, store *Store, key string, n int) (errs []error, wg *sync.WaitGroup) {
	t.Helper()
	p := pipelinedOf(store)
	p.maxWait = time.Hour
	errs, wg = make([]error, n), &sync.WaitGroup{}
	for i := range n {
		wg.Go(func() { errs[i] = store.Charge(context.Background(), time.Now(), hourly(key), &limit.Verdict{}) })
		p.await(i + 1)
	}
	return errs, wg
}

// await waits until so many calls are under way or wait.
func (p *pipelined) await(calls int) {
	for begun := 0; begun < calls; runtime.Gosched() {
		p.mu.Lock()
		begun = p.underWay + len(p.waiting)
		p.mu.Unlock()
	}
}

func pipelinedOf(s *Store) *pipelined {
	if g, ok := s.client.(guarded); ok {
		return g.Client.(*pipelined)
	}
	return s.client.(*pipelined)
}

// used returns the units of a key.
func used(t *testing.T, client *goredis.Client, key string) int64 {
	t.Helper()
	var v limit.Verdict
	if err := New(client, Options{}).Peek(t.Context(), time.Now(), hourly(key), &v); err != nil {
		t.Fatal(err)
	}
	return 100 - v.Remaining
}

// TestWaitingEnds: a call that waits for a lane ends with its context, and is not
// sent afterwards. The others are.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	client, resume := paused(t, nil)
	store := New(client, Options{OneServer: true})
	errs, calls := begin(t, store, "k", lanes)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := store.Charge(ctx, time.Now(), hourly("k"), &limit.Verdict{}); !errors.Is(err, ErrTimeout) || time.Since(began) > 2*time.Second {
		t.Errorf("error %v after %v", err, time.Since(began))
	}
	calls.Go(func() {
		if err := store.Charge(context.Background(), time.Now(), hourly("k"), &limit.Verdict{}); err != nil {
			t.Error(err)
		}
	})
	pipelinedOf(store).await(lanes + 2) // the one whose context has ended is still there
	resume()
	calls.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := used(t, client, "k"); n != lanes+1 {
		t.Errorf("%d units used, want %d", n, lanes+1)
	}
}

// TestLatestDeadline: calls of one round trip have it as long as the most patient
// of them waits.
func TestLatestDeadline(t *testing.T) {
	t.Parallel()
	client, resume := paused(t, nil)
	store := New(client, Options{OneServer: true})
	_, alone := begin(t, store, "k", lanes)
	p := pipelinedOf(store)
	errs := make([]error, 3)
	var impatient, patient sync.WaitGroup
	for i, wait := range []time.Duration{100 * time.Millisecond, time.Minute, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		group := &impatient
		if wait == time.Minute {
			group = &patient
		}
		group.Go(func() { errs[i] = store.Charge(ctx, time.Now(), hourly("k"), &limit.Verdict{}) })
		p.await(lanes + i + 1)
	}
	go p.overtake() // they are sent, and the server is still paused
	impatient.Wait()
	resume()
	patient.Wait()
	alone.Wait()
	if !errors.Is(errs[0], ErrTimeout) || errs[1] != nil || !errors.Is(errs[2], ErrTimeout) {
		t.Errorf("%v", errs)
	}
	if n := used(t, client, "k"); n != lanes+3 {
		t.Errorf("%d units used, want %d", n, lanes+3)
	}
}

// TestPipelinedStress: calls of many goroutines, some with contexts that end, get
// exactly the capacity, and each gets the answer to its own call.
func TestPipelinedStress(t *testing.T) {
	t.Parallel()
	server := servers.StartRedis(t)
	client := goredis.NewClient(parse(t, server.URL()).options.Simple())
	defer client.Close()
	store := New(client, Options{OneServer: true})
	var wg sync.WaitGroup
	var allowed [4]atomic.Int64
	for i := range 32 {
		wg.Go(func() {
			key := fmt.Sprint("k", i%4)
			for n := range 40 {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				if n%10 == 9 {
					cancel()
				}
				c := hourly(key)
				c.Limits[0].Capacity = int64(100 + i%4)
				var v limit.Verdict
				if err := store.Charge(ctx, time.Now(), c, &v); err == nil && v.Allowed {
					allowed[i%4].Add(1)
				} else if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for i := range allowed {
		if n := allowed[i].Load(); n != int64(100+i) {
			t.Errorf("key %d: %d allowed, want %d", i, n, 100+i)
		}
	}
}

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

// TestLostTogether: calls that begin while others are under way are sent together.
// Those of one round trip whose answers are lost are not sent again, and the
// breaker counts them as one.
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
