package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// serve starts a server that sends one reply to everything, or hangs up if the
// reply is empty. It counts its callers, and fails the test unless each of them
// hangs up within seconds.
func serve(t *testing.T, reply string, callers *atomic.Int64) *Address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			callers.Add(1)
			if err := respond(c, reply); !errors.Is(err, io.EOF) {
				t.Errorf("after the answers: %v", err)
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return parse(t, "redis://"+l.Addr().String())
}

func parse(t testing.TB, address string) *Address {
	t.Helper()
	a, err := ParseAddress(address, "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// respond replies until the caller hangs up.
func respond(c net.Conn, reply string) error {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	for buffer := make([]byte, 1024); ; {
		if _, err := c.Read(buffer); err != nil {
			return err
		}
		if reply == "" {
			return io.EOF
		}
		if _, err := c.Write([]byte(reply)); err != nil {
			return err
		}
	}
}

// TestOpen checks that a server which cannot keep counters is an error after
// one connection, which is closed.
func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		reply string
		want  error
		text  string // of the error
	}{
		"a sentinel":    {"%1\r\n$4\r\nmode\r\n$8\r\nsentinel\r\n", nil, "this is a Redis sentinel, which keeps no counters"},
		"an old server": {"-ERR unknown command `HELLO`\r\n", ErrTooOld, "no Redis 6.2"},
		"no mode":       {"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n", ErrTooOld, "no Redis 6.2"},
		"it hangs up":   {"", ErrUnreachable, "check the address"},
	} {
		t.Run(name, func(t *testing.T) {
			var callers atomic.Int64
			a := serve(t, test.reply, &callers)
			c, err := Open(t.Context(), a)
			if c != nil || err == nil || !strings.HasPrefix(err.Error(), a.String()+": ") || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, %v", c, err)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if n := callers.Load(); n != 1 {
				t.Errorf("it was called %d times, want once", n)
			}
		})
	}
}

// clients returns the clients that Open creates, with a dialer of the test's.
func clients(t *testing.T, dialer func(context.Context, string, string) (net.Conn, error)) map[string]goredis.UniversalClient {
	a := parse(t, "redis://redis.example")
	one, many := a.options.Simple(), a.clusterOptions()
	one.Dialer, many.Dialer = dialer, dialer
	made := map[string]goredis.UniversalClient{"one server": goredis.NewClient(one), "a cluster": goredis.NewClusterClient(many)}
	for _, client := range made {
		t.Cleanup(func() { client.Close() })
	}
	return made
}

// TestOneTry checks that a call is tried once, even if nothing has been sent
// yet, because its caller waits.
func TestOneTry(t *testing.T) {
	c := &limit.Charge{Key: "rule|a|s", Costs: []int64{1}, Limits: []limit.Limit{{Capacity: 9, Window: time.Hour, Granularity: time.Hour}}}
	mute := serve(t, "", new(atomic.Int64))
	for name, connect := range map[string]func() (net.Conn, error){
		"nothing listens": func() (net.Conn, error) { return nil, &net.OpError{Op: "dial", Err: errors.New("refused")} },
		"it hangs up":     func() (net.Conn, error) { return net.Dial("tcp", mute.options.Addrs[0]) },
	} {
		var dialed atomic.Int64
		for kind, client := range clients(t, func(context.Context, string, string) (net.Conn, error) {
			dialed.Add(1)
			return connect()
		}) {
			dialed.Store(0)
			var v limit.Verdict
			if err := New(client, Options{}).Charge(t.Context(), time.Now(), c, &v); !errors.Is(err, ErrUnreachable) || v.Allowed {
				t.Errorf("%s, %s: %+v, %v", name, kind, v.Result, err)
			}
			if n := dialed.Load(); n != 1 {
				t.Errorf("%s, %s: dialed %d times, want once", name, kind, n)
			}
		}
	}
}

// TestDeadline checks that the caller's deadline ends a call that has begun.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for kind, client := range clients(t, func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			started := time.Now()
			if err := New(client, Options{}).Reset(ctx, "rule|a|s"); !errors.Is(err, ErrTimeout) || time.Since(started) != 20*time.Millisecond {
				t.Errorf("%s: %v after %v", kind, err, time.Since(started))
			}
		}
	})
}

// TestTimeouts checks that a call without a deadline ends within five seconds.
func TestTimeouts(t *testing.T) {
	a := parse(t, "redis://h:1")
	one, many := goredis.NewClient(a.options.Simple()), goredis.NewClusterClient(a.clusterOptions())
	defer one.Close()
	defer many.Close()
	o, c := one.Options(), many.Options() // with go-redis's defaults
	if o.DialTimeout+max(o.ReadTimeout, o.WriteTimeout) > 5*time.Second || min(o.ReadTimeout, o.WriteTimeout) <= 0 {
		t.Errorf("%v to dial, %v to write, %v to read", o.DialTimeout, o.WriteTimeout, o.ReadTimeout)
	}
	if c.DialTimeout != o.DialTimeout || c.ReadTimeout != o.ReadTimeout || c.WriteTimeout != o.WriteTimeout {
		t.Errorf("in a cluster %v to dial, %v to write, %v to read", c.DialTimeout, c.WriteTimeout, c.ReadTimeout)
	}
}

// refuse answers every command with an error, and reports those on a counter.
func refuse(c net.Conn, called func()) {
	for buffer := make([]byte, 1<<16); ; {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		if text := string(buffer[:n]); strings.Contains(text, "slidegate:") {
			called()
		}
		_, _ = c.Write([]byte("-ERR no\r\n"))
	}
}

// TestRouting checks that each call in a Cluster goes directly to the node of
// its key: every call on a key to the same node, and the keys to different
// nodes.
func TestRouting(t *testing.T) {
	o := parse(t, "redis://127.0.0.1:1").clusterOptions()
	o.ClusterSlots = func(context.Context) ([]goredis.ClusterSlot, error) {
		return []goredis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []goredis.ClusterNode{{Addr: "low:1"}}},
			{Start: 8192, End: 16383, Nodes: []goredis.ClusterNode{{Addr: "high:1"}}},
		}, nil
	}
	var called atomic.Value
	called.Store("")
	o.Dialer = func(_ context.Context, _, address string) (net.Conn, error) {
		near, far := net.Pipe()
		go refuse(far, func() { called.Store(address) })
		return near, nil
	}
	client := goredis.NewClusterClient(o)
	defer client.Close()
	store, keys := New(client, Options{}), map[string]int{}
	for i := range 32 {
		c := &limit.Charge{Key: fmt.Sprint("rule|", i, "|s"), Costs: []int64{1}, Limits: []limit.Limit{{Capacity: 9, Window: time.Hour, Granularity: time.Hour}}}
		_ = store.Reset(t.Context(), c.Key) // a command, not the script
		node := called.Swap("").(string)
		keys[node]++
		for _, call := range []func() error{
			func() error { return store.Charge(t.Context(), time.Now(), c, &limit.Verdict{}) },
			func() error { return store.Settle(t.Context(), time.Now(), c, &limit.Receipt{}, []int64{1}) },
		} {
			_ = call()
			if got := called.Swap(""); got != node {
				t.Errorf("key %s: called node %s, want %s", c.Key, got, node)
			}
		}
	}
	if keys["low:1"] < 8 || keys["high:1"] < 8 {
		t.Errorf("%v", keys)
	}
}

// TestServerName checks that certificates of a server, and of every node of a
// Cluster, must have the address's name.
func TestServerName(t *testing.T) {
	for text, want := range map[string]string{"redis://h": "", "rediss://h": "h", "rediss://[::1]:1": "::1"} {
		a := parse(t, text)
		for _, config := range []*tls.Config{a.options.Simple().TLSConfig, a.clusterOptions().TLSConfig} {
			if (config != nil) != (want != "") || config != nil && config.ServerName != want {
				t.Errorf("%s: %+v, want %q", text, config, want)
			}
		}
	}
}
