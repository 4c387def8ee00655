package redis_test

import (
	"errors"
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

// wantTrouble wants an error from every write, and nothing written: no new key,
// and no change to the known one.
func wantTrouble(t *testing.T, server *servers.Redis, store *redis.Store, known string, want error) {
	t.Helper()
	before := stored(t, server, known)
	limits := []limit.Limit{storetest.Sliding(9, time.Minute, sec), storetest.Token(9, time.Minute, 9)}
	var v, w limit.Verdict
	for _, err := range []error{
		store.Charge(t.Context(), epoch, request(known, limits, 1, 1), &v),
		store.ChargeAll(t.Context(), epoch, []*limit.Charge{request("new|a|s", limits, 1, 1), request(known, limits, 1, 1)}, []*limit.Verdict{&w, {}}),
		store.Settle(t.Context(), epoch, request(known, limits, 1, 1), &limit.Receipt{Generation: before["life"]}, []int64{1, 0}),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if v.Allowed || w.Allowed {
		t.Errorf("allowed: %+v, %+v", v.Result, w.Result)
	}
	if after := stored(t, server, known); after["a"] != before["a"] || after["b"] != before["b"] || len(stored(t, server, "new|a|s")) > 0 {
		t.Errorf("was %v, is %v", before, after)
	}
	// A denial needs no write, so it still succeeds.
	if v := charge(t, store, epoch, request(known, limits, 10, 10)); v.Allowed || v.Remaining != 8 {
		t.Errorf("a denial: %+v", v.Result)
	}
}

// TestTrouble checks that a server which cannot write admits nothing. A full one
// is no outage: counting elsewhere would admit more.
func TestTrouble(t *testing.T) {
	for want, command := range map[error]string{
		redis.ErrFull:        "config set maxmemory 1",
		redis.ErrReplica:     "replicaof 127.0.0.1 1", // of a primary that is not there
		redis.ErrNotWritable: "config set min-replicas-to-write 1",
	} {
		server, key := servers.StartRedis(t, "maxmemory-policy noeviction"), fresh()
		store := open(t, server)
		charge(t, store, epoch, request(key, []limit.Limit{storetest.Sliding(9, time.Minute, sec), storetest.Token(9, time.Minute, 9)}, 1, 1))
		var words []any
		for word := range strings.FieldsSeq(command) {
			words = append(words, word)
		}
		if err := server.Client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
		wantTrouble(t, server, store, key, want)
	}
	if !errors.Is(redis.ErrFull, limit.ErrUndecided) {
		t.Error("a full server counts as an outage")
	}
}

// TestCluster makes every call on a Cluster of one server. Two keys to charge
// at once are in different hash slots.
func TestCluster(t *testing.T) {
	t.Parallel()
	server := servers.StartCluster(t)
	connection := connect(t, server.URL())
	if !redis.Clustered(connection) || redis.Clustered(connect(t, servers.StartRedis(t).URL())) {
		t.Error("Clustered is wrong of a Cluster or of one server")
	}
	store := redis.New(connection, redis.Options{CallerClock: true, OneServer: true}) // as of a client that does not know the Cluster
	limits := []limit.Limit{storetest.Sliding(2, time.Minute, sec)}
	if !store.Batches() {
		t.Error("several keys are not asked for")
	}
	a, b := request("rule|{a}|s", limits, 1), request("rule|{b}|s", limits, 1)
	first := charge(t, store, epoch, a)
	if err := store.Settle(t.Context(), epoch, a, &first.Receipt, []int64{1}); err != nil {
		t.Error(err)
	}
	if v := charge(t, store, epoch, a); v.Allowed {
		t.Errorf("%+v", v.Result)
	}
	if err := store.Reset(t.Context(), a.Key); err != nil {
		t.Error(err)
	}
	var v, w limit.Verdict
	err := store.ChargeAll(t.Context(), epoch, []*limit.Charge{a, b}, []*limit.Verdict{&v, &w})
	if !errors.Is(err, redis.ErrApart) || !errors.Is(err, limit.ErrUndecided) || v.Allowed || w.Allowed {
		t.Errorf("%+v, %+v, %v", v.Result, w.Result, err)
	}
	if !errors.Is(err, limit.ErrGroup) || store.Batches() {
		t.Errorf("%v; two keys are asked for again: %v", err, store.Batches())
	}
	if len(stored(t, server, a.Key))+len(stored(t, server, b.Key)) > 0 {
		t.Error("one of them was charged")
	}
	if err := store.ChargeAll(t.Context(), epoch, []*limit.Charge{a}, []*limit.Verdict{&v}); err != nil || !v.Allowed {
		t.Errorf("one alone: %+v, %v", v.Result, err)
	}
	if _, err := dial(t, "redis://"+server.Address+"/1"); !errors.Is(err, redis.ErrDatabase) {
		t.Errorf("a database of a cluster: %v", err)
	}
}
