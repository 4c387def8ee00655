package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redistest"
)

// hourly is a charge of one unit of 100 an hour.
func hourly(key string) *limit.Charge {
	return &limit.Charge{Key: key, Costs: []int64{1}, Limits: []limit.Limit{{Capacity: 100, Window: time.Hour, Granularity: time.Hour}}}
}

// paused starts a server that has the script and does not answer for a while,
// and a client of it.
func paused(t *testing.T, dialer func(context.Context, string, string) (net.Conn, error)) (*redistest.Server, *goredis.Client) {
	t.Helper()
	server := redistest.Start(t)
	o := parse(t, server.URL()).options.Simple()
	o.Dialer = dialer
	client := goredis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	if err := server.Client.ScriptLoad(t.Context(), scriptOf(1<<slots).text).Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Do(t.Context(), "client", "pause", "1000", "all").Err(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// chargeAtOnce makes n charges of a key, of which so many as there are lanes are
// under way when the others begin.
func chargeAtOnce(t *testing.T, store *Store, key string, n int) []error {
	t.Helper()
	p := pipelinedOf(store)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = store.Charge(context.Background(), time.Now(), hourly(key), &limit.Verdict{}) })
		for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			p.mu.Lock()
			begun := p.underWay + len(p.waiting)
			p.mu.Unlock()
			if begun == i+1 {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("%d calls have begun, want %d", begun, i+1)
			}
		}
	}
	wg.Wait()
	return errs
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

// TestCallsShareRoundTrips: calls that begin while others are under way are sent
// together.
func TestCallsShareRoundTrips(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	_, client := paused(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &writes{c, &sent}, err
	})
	for _, err := range chargeAtOnce(t, New(client, Options{OneServer: true}), "k", 20) {
		if err != nil {
			t.Error(err)
		}
	}
	if n := sent.Load(); n != lanes+1 {
		t.Errorf("20 calls were sent in %d parts, want %d alone and the others together", n, lanes)
	}
	if n := used(t, client, "k"); n != 20 {
		t.Errorf("%d units used, want 20", n)
	}
}

// writes is a connection that counts the writes of scripts.
type writes struct {
	net.Conn
	sent *atomic.Int64
}

func (c *writes) Write(b []byte) (int, error) {
	if len(b) > 100 { // more than the greeting
		c.sent.Add(1)
	}
	return c.Conn.Write(b)
}

// TestWaitingEnds: a call that waits for a lane ends with its context, and is not
// sent afterwards. The others are.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	_, client := paused(t, nil)
	store := New(client, Options{OneServer: true})
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, err := range chargeAtOnce(t, store, "k", lanes) {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for p := pipelinedOf(store); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		full := p.underWay == lanes
		p.mu.Unlock()
		if full {
			break
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := store.Charge(ctx, time.Now(), hourly("k"), &limit.Verdict{}); !errors.Is(err, ErrTimeout) || time.Since(began) > 700*time.Millisecond {
		t.Errorf("error %v after %v", err, time.Since(began))
	}
	if err := store.Charge(t.Context(), time.Now(), hourly("k"), &limit.Verdict{}); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if n := used(t, client, "k"); n != lanes+1 {
		t.Errorf("%d units used, want %d", n, lanes+1)
	}
}

// TestLostTogether: calls of one round trip whose answers are lost are not sent
// again, and the breaker counts them as one.
func TestLostTogether(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	server, client := paused(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &lossy{Conn: c, calls: &sent}, err
	})
	store := New(client, Options{OneServer: true, Breaker: breaker.New(time.Now, func(breaker.Change) {})})
	for i, err := range chargeAtOnce(t, store, "k", 20) {
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := sent.Load(); n != lanes+1 {
		t.Errorf("20 calls were sent in %d parts, want %d", n, lanes+1)
	}
	if n := used(t, server.Client, "k"); n != 20 {
		t.Errorf("%d units used, want 20", n)
	}
	if err := store.Charge(t.Context(), time.Now(), hourly("k"), &limit.Verdict{}); errors.Is(err, breaker.ErrOpen) {
		t.Errorf("%d round trips have opened the breaker", lanes+1)
	}
}

// TestPipelinedStress: calls of many goroutines, some with contexts that end, get
// exactly the capacity, and each gets the answer to its own call.
func TestPipelinedStress(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
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
