package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
	store "github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/redisstore"
)

var _ slidegate.Store = (*redisstore.Store)(nil)

// TestExample runs the example on a real server, and compares its output.
func TestExample(t *testing.T) {
	address = servers.StartRedis(t).Address
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	Example()
	os.Stdout = stdout
	got, err := os.ReadFile(file.Name())
	if want := "true 1\ntrue 0\nfalse 0\n"; string(got) != want || err != nil {
		t.Errorf("printed %q, error %v, want %q", got, err, want)
	}
}

func limiter(t *testing.T, s slidegate.Store, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(append([]slidegate.Option{
		slidegate.SlidingWindow(10, time.Hour), slidegate.WithName("api"), slidegate.WithStore(s),
		slidegate.FailError(), slidegate.WithDeadline(10 * time.Second),
		slidegate.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// lossy is a dialer of connections that lose the answer to a command, and break.
type lossy struct {
	address string // of the server, whatever the client dials
	command string // in lower case
	sent    atomic.Int64
}

func (l *lossy) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, l.address)
	return &lossyConn{Conn: conn, dialer: l}, err
}

type lossyConn struct {
	net.Conn
	dialer *lossy
	lost   atomic.Bool
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("\r\n"+c.dialer.command+"\r\n")) {
		c.dialer.sent.Add(1)
		c.lost.Store(true)
	}
	return c.Conn.Write(b)
}

// Read returns the end of the stream once the server has carried out the
// command.
func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.lost.Load() {
		return n, err
	}
	_ = c.Close()
	return 0, io.EOF
}

// clients returns users' clients of every kind, whose connections a dialer
// makes. They repeat commands three times.
func clients(t *testing.T, l *lossy) map[string]redis.UniversalClient {
	const retries, soon = 3, time.Millisecond
	made := map[string]redis.UniversalClient{
		"server": redis.NewClient(&redis.Options{Dialer: l.dial, MaxRetries: retries, MaxRetryBackoff: soon}),
		"cluster": redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{l.address}, Dialer: l.dial, MaxRetries: retries, MaxRedirects: retries, MaxRetryBackoff: soon,
		}),
		"ring": redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"a": l.address}, MaxRetries: retries, MaxRetryBackoff: soon,
			NewClient: func(o *redis.Options) *redis.Client { o.Dialer = l.dial; return redis.NewClient(o) },
		}),
	}
	for _, c := range made {
		t.Cleanup(func() { c.Close() })
	}
	return made
}

// TestNothingIsSentTwice loses the answer to a charge, to a settlement and to a
// reset. Each is sent once, by clients that repeat a command of their user's own.
func TestNothingIsSentTwice(t *testing.T) {
	plain, cluster := servers.StartRedis(t), servers.StartCluster(t)
	for _, kind := range []string{"server", "cluster", "ring"} {
		server := plain
		if kind == "cluster" {
			server = cluster
		}
		l := &lossy{address: server.Address, command: "nothing"}
		users := clients(t, l)[kind]
		lim := limiter(t, redisstore.New(users))
		reservation, err := lim.Reserve(t.Context(), "k", 2) // also caches the script
		if err != nil {
			t.Fatal(kind, err)
		}
		for _, call := range []struct {
			name, command string
			make          func() error
			repeated      bool
			used          int64
		}{
			{"charge", "evalsha", func() error { _, err := lim.Allow(t.Context(), "k"); return err }, false, 3},
			{"settlement", "evalsha", func() error { return reservation.Settle(t.Context(), 5) }, false, 6},
			{"user's own", "incr", func() error { return users.Incr(t.Context(), "other").Err() }, true, 6},
			{"reset", "del", func() error { return lim.Reset(t.Context(), "k") }, false, 0},
		} {
			l.command = call.command
			l.sent.Store(0)
			if err := call.make(); err == nil || l.sent.Load() == 0 || (l.sent.Load() > 1) != call.repeated {
				t.Errorf("%s, %s: sent %d times, error %v; want it repeated: %v", kind, call.name, l.sent.Load(), err, call.repeated)
			}
			l.command = "nothing"
			if r, err := lim.Peek(t.Context(), "k"); err != nil || r.Limit-r.Remaining != call.used {
				t.Errorf("%s, %s: %d units used, want %d; error %v", kind, call.name, r.Limit-r.Remaining, call.used, err)
			}
		}
	}
}

// TestDeadline has a server that does not answer. The limiter's deadline ends
// the call, whether or not the client observes deadlines.
func TestDeadline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	for _, observes := range []bool{false, true} {
		for kind, users := range map[string]redis.UniversalClient{
			"server":  redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: observes}),
			"cluster": redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}, ContextTimeoutEnabled: observes}),
			"ring":    redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": address}, ContextTimeoutEnabled: observes}),
		} {
			lim := limiter(t, redisstore.New(users), slidegate.WithDeadline(20*time.Millisecond))
			began := time.Now()
			if _, err := lim.Allow(t.Context(), "k"); !errors.Is(err, store.ErrTimeout) || time.Since(began) > time.Second {
				t.Errorf("%s, observes deadlines: %v: error %v after %v", kind, observes, err, time.Since(began))
			}
			users.Close()
		}
	}
}

// gate holds the calls of a client until a pipeline has sent enough others.
type gate struct {
	sent chan int // how many calls a pipeline has sent
	open chan struct{}
}

func (g gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-g.open
		return next(ctx, cmd)
	}
}

func (g gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if strings.HasPrefix(cmds[0].Name(), "eval") { // and not the calls of a new connection
			g.sent <- len(cmds)
		}
		return next(ctx, cmds)
	}
}

// TestSharedRoundTrips holds two calls by a client with the defaults of go-redis.
// The others share round trips, as they do by a client that observes deadlines.
func TestSharedRoundTrips(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: servers.StartRedis(t).Address, DisableIdentity: true})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	held := gate{sent: make(chan int, 8), open: make(chan struct{})}
	client.AddHook(held)
	lim := limiter(t, redisstore.New(client), slidegate.WithDeadline(time.Minute))
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if r, err := lim.Allow(t.Context(), "k"); err != nil || !r.Allowed {
				t.Errorf("%+v, error %v", r, err)
			}
		})
	}
	for sent := 0; sent < 6; {
		select {
		case n := <-held.sent:
			sent += n
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of 6 calls were sent together", sent)
		}
	}
	close(held.open)
	calls.Wait()
}

// TestCluster makes every call of a limiter by a client with the defaults of
// go-redis, whose user has the rights that the package's comment lists.
func TestCluster(t *testing.T) {
	server := servers.StartCluster(t)
	rights := "reset on nopass ~slidegate:* +eval +evalsha +hgetall +hmget +hset +pexpire +time +del +cluster|slots +command"
	if err := server.Client.ACLSetUser(t.Context(), "counter", strings.Fields(rights)...).Err(); err != nil {
		t.Fatal(err)
	}
	users := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Address}, Username: "counter", Password: "any"})
	defer users.Close()
	lim := limiter(t, redisstore.New(users))
	for _, key := range []string{"user:7", "user:8", "{user}:9"} {
		r, err := lim.Reserve(t.Context(), key, 10)
		if err != nil || !r.Allowed {
			t.Fatalf("%s: %+v, error %v", key, r, err)
		}
		if denied, err := lim.Allow(t.Context(), key); err != nil || denied.Allowed {
			t.Errorf("%s: %+v, error %v, want a denial", key, denied, err)
		}
		if err := r.Settle(t.Context(), 4); err != nil {
			t.Error(key, err)
		}
		if after, err := lim.Peek(t.Context(), key); err != nil || after.Remaining != 6 {
			t.Errorf("%s: %+v, error %v, want 6 left", key, after, err)
		}
		if err := lim.Reset(t.Context(), key); err != nil {
			t.Error(key, err)
		}
		if after, err := lim.Peek(t.Context(), key); err != nil || after.Remaining != 10 {
			t.Errorf("%s: %+v, error %v after a reset", key, after, err)
		}
	}
}

// TestRing refuses to charge two keys at once: a Ring would count both on the
// server of the first.
func TestRing(t *testing.T) {
	users := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": servers.StartRedis(t).Address}})
	defer users.Close()
	charge := func(key string) *limit.Charge {
		return &limit.Charge{Key: key, Costs: []int64{1}, Limits: []limit.Limit{{Capacity: 9, Window: time.Hour, Granularity: time.Hour}}}
	}
	a, b := charge("a"), charge("b")
	s, verdicts := redisstore.New(users).Driver(), []*limit.Verdict{{}, {}}
	if err := s.ChargeAll(t.Context(), time.Now(), []*limit.Charge{a, b}, verdicts); !errors.Is(err, store.ErrApart) {
		t.Errorf("two keys: %v, want %v", err, store.ErrApart)
	}
	if err := s.ChargeAll(t.Context(), time.Now(), []*limit.Charge{a}, verdicts[:1]); err != nil || !verdicts[0].Allowed {
		t.Errorf("one key: %+v, error %v", verdicts[0].Result, err)
	}
}

// TestCallerClock charges by a clock a day ahead: the server's clock decides
// unless the store takes the callers'.
func TestCallerClock(t *testing.T) {
	users := servers.StartRedis(t).Client
	tomorrow := time.Now().Add(24 * time.Hour)
	for name, test := range map[string]struct {
		options []redisstore.Option
		allowed bool // a request of tomorrow
	}{
		"the server's clock": {nil, false},
		"the callers' clock": {[]redisstore.Option{redisstore.WithCallerClock()}, true},
	} {
		lim := limiter(t, redisstore.New(users, test.options...))
		if r, err := lim.AllowN(t.Context(), name, 10); err != nil || !r.Allowed {
			t.Fatalf("%s: %+v, error %v", name, r, err)
		}
		if r, err := lim.AllowAt(t.Context(), tomorrow, name); err != nil || r.Allowed != test.allowed {
			t.Errorf("%s: allowed %v, error %v, want %v", name, r.Allowed, err, test.allowed)
		}
	}
}

// TestErrors lists the mistakes of a first start, and what the limiter says.
func TestErrors(t *testing.T) {
	server := servers.StartRedis(t, "requirepass secret", "user counter on >secret resetkeys ~slidegate:* +get")
	for name, test := range map[string]struct {
		options redis.Options
		want    error
		text    string
	}{
		"no server":      {redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1}, store.ErrUnreachable, "check the address"},
		"no password":    {redis.Options{Addr: server.Address}, store.ErrSignIn, "does not know this user or password"},
		"wrong password": {redis.Options{Addr: server.Address, Password: "other"}, store.ErrSignIn, "does not know this user or password"},
		"no permission":  {redis.Options{Addr: server.Address, Username: "counter", Password: "secret"}, store.ErrNotPermitted, "+evalsha"},
	} {
		for call, make := range map[string]func(*slidegate.Limiter) (slidegate.Result, error){
			"Allow": func(l *slidegate.Limiter) (slidegate.Result, error) { return l.Allow(t.Context(), "k") },
			"Peek":  func(l *slidegate.Limiter) (slidegate.Result, error) { return l.Peek(t.Context(), "k") },
		} {
			users := redis.NewClient(&test.options)
			_, err := make(limiter(t, redisstore.New(users)))
			if !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), "slidegate: limiter api: ") || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %s: %v, want %v", name, call, err, test.want)
			}
			users.Close()
		}
	}
}

// TestOutage: requests of a limiter wait for a server that swallows calls only
// until the breaker opens, also with a client that ignores deadlines. The logger
// gets one line then, and one when the server answers again.
func TestOutage(t *testing.T) {
	logging.Disable()
	for name, bounded := range map[string]bool{"a client by deadlines": true, "a client that ignores deadlines": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := servers.NewProxy(t, servers.StartRedis(t).Address)
			client := redis.NewClient(&redis.Options{Addr: proxy.Address, ContextTimeoutEnabled: bounded, ReadTimeout: time.Second, MaxRetries: -1})
			defer client.Close()
			var lines bytes.Buffer
			store := redisstore.New(client, redisstore.WithLogger(slog.New(slog.NewTextHandler(&lines, nil))))
			const deadline = 100 * time.Millisecond
			lim := limiter(t, store, slidegate.WithDeadline(deadline), slidegate.FailLocal(1))
			if r, err := lim.Allow(t.Context(), "k"); err != nil || r.Degraded {
				t.Fatalf("before the outage: %+v, error %v", r, err)
			}
			if err := proxy.Set(servers.Fault{Blackhole: true}); err != nil {
				t.Fatal(err)
			}
			waited, started := 0, time.Now()
			for range 200 {
				before := time.Now()
				if r, err := lim.Allow(t.Context(), "k"); err != nil || !r.Degraded {
					t.Fatalf("result %+v, error %v", r, err)
				}
				if time.Since(before) >= deadline {
					waited++
				}
			}
			// Five calls, one probe a second, and some that a busy machine held up.
			if most := 5 + int(time.Since(started)/time.Second) + 10; waited < 5 || waited > most {
				t.Errorf("%d of 200 requests waited in %v, want 5 to %d", waited, time.Since(started), most)
			}
			if err := proxy.Set(servers.Fault{}); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				r, err := lim.Allow(t.Context(), "k")
				if err != nil || time.Now().After(end) {
					t.Fatalf("after the outage: %+v, error %v", r, err)
				}
				if !r.Degraded {
					break
				}
			}
			if got := strings.Split(lines.String(), "\n"); len(got) != 3 || !strings.Contains(got[0], "store does not answer") || !strings.Contains(got[1], "store answers again") {
				t.Errorf("logged %q, want two lines", lines.String())
			}
		})
	}
}
