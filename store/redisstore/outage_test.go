package redisstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/redisstore"
)

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
