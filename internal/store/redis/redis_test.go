package redis_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

var epoch = time.Date(2024, time.March, 30, 22, 0, 0, 0, time.UTC)

const (
	sec = time.Second
	// prefix is how a counter's key begins in Redis.
	prefix = "slidegate:2:{}"
)

var wide = flag.Bool("wide", false, "run all of the conformance suite's random calls, not a fifth or less, as make test-wide does")

// TestStore runs the conformance suite of all stores, on stores that ask the
// server for every denial, and on others that deny by snapshots.
func TestStore(t *testing.T) {
	histories := 0
	if !*wide {
		storetest.Few(t, 20)
		histories = 20
	}
	for name, opts := range map[string]redis.Options{
		"every denial a call": {CallerClock: true},
		"snapshots":           {CallerClock: true, Clock: clock.Machine(time.Now), OneServer: true},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				server := servers.StartRedis(t)
				h := storetest.Harness{
					Client: func(t testing.TB) limit.Store { return redis.New(connect(t, server.URL()), opts) },
					Expire: func(t testing.TB, key string) {
						if err := server.Client.Del(t.Context(), prefix+key).Err(); err != nil {
							t.Error(err)
						}
					},
					NoLocalDenials: opts.Clock == nil,
					Histories:      histories,
				}
				if opts.Clock != nil {
					h.Lag = 10 * time.Second
				}
				return h
			})
		})
	}
}

// open returns a store that decides by the caller's clock.
func open(t testing.TB, server *servers.Redis) *redis.Store {
	t.Helper()
	return redis.New(connect(t, server.URL()), redis.Options{CallerClock: true})
}

func connect(t testing.TB, url string) redis.Connection {
	t.Helper()
	c, err := dial(t, url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dial(t testing.TB, url string) (redis.Connection, error) {
	t.Helper()
	address, err := redis.ParseAddress(url, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.Open(t.Context(), address)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// calendar returns a limit of two requests in a calendar's window.
func calendar(unit limit.Unit, location *time.Location) limit.Limit {
	return storetest.Calendar(2, &limit.Calendar{Unit: unit, Location: location})
}

func request(key string, limits []limit.Limit, costs ...int64) *limit.Charge {
	return &limit.Charge{Key: key, Limits: limits, Costs: costs}
}

func charge(t testing.TB, store *redis.Store, now time.Time, c *limit.Charge) *limit.Verdict {
	t.Helper()
	var v limit.Verdict
	if err := store.Charge(t.Context(), now, c, &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// stored returns a counter's fields as Redis stores them.
func stored(t testing.TB, server *servers.Redis, key string) map[string]string {
	t.Helper()
	fields, err := server.Client.HGetAll(t.Context(), prefix+key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// info returns a number of the server's INFO, such as "calls" of
// "cmdstat_eval:calls=3,usec=…".
func info(t testing.TB, server *servers.Redis, section, name string) int {
	t.Helper()
	text, err := server.Client.Info(t.Context(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(text, "\n"+name)
	if !found {
		return 0
	}
	after = strings.TrimPrefix(strings.TrimPrefix(after, ":"), "calls=")
	end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.Atoi(after[:end])
	if err != nil {
		t.Fatalf("%s is %q", name, after)
	}
	return n
}
