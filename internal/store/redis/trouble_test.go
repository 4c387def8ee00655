package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

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
