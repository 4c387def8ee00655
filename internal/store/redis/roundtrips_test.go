package redis_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestOneRoundTrip counts one round trip for each decision, however many limits
// and keys it has.
func TestOneRoundTrip(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	c := request(fresh(), all(), 1, 1, 1, 1, 1, 1)
	if v := charge(t, store, epoch, c); !v.Allowed {
		t.Fatalf("%+v", v)
	}
	if got := info(t, server, "commandstats", "cmdstat_eval:"); got != 1 {
		t.Errorf("the script was sent %d times, want once", got)
	}
	// The statistic counts reads from the network, not a script's own calls.
	before := info(t, server, "stats", "total_reads_processed")
	var v, w limit.Verdict
	for range 5 { // 3 admissions and 2 denials
		charge(t, store, epoch, c)
	}
	if err := store.Peek(t.Context(), epoch, c, &v); err != nil {
		t.Fatal(err)
	}
	if err := store.ChargeAll(t.Context(), epoch, []*limit.Charge{request(fresh(), all(), 1, 1, 1, 1, 1, 1), request(fresh(), all(), 1, 1, 1, 1, 1, 1)}, []*limit.Verdict{&v, &w}); err != nil {
		t.Fatal(err)
	}
	if !v.Allowed || !w.Allowed {
		t.Errorf("%+v, %+v", v.Result, w.Result)
	}
	if got := info(t, server, "stats", "total_reads_processed") - before - 1; got != 7 { // without the INFO command itself
		t.Errorf("7 decisions took %d round trips", got)
	}
}

// TestScriptMissing sends the script again to a server that has lost it.
func TestScriptMissing(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	c := request(fresh(), []limit.Limit{storetest.Sliding(3, time.Minute, sec)}, 1)
	for i := range 4 {
		if v := charge(t, store, epoch, c); v.Allowed != (i < 3) {
			t.Errorf("charge %d: %+v", i, v.Result)
		}
		if err := server.Client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := info(t, server, "commandstats", "cmdstat_eval:"); got != 4 {
		t.Errorf("the script was sent %d times, want 4", got)
	}
}

// TestLastRoomShown checks that the charge which takes the last room returns all
// slots, so that the denials after it need no call.
func TestLastRoomShown(t *testing.T) {
	store := redis.New(connect(t, servers.StartRedis(t).URL()), redis.Options{CallerClock: true, Clock: clock.Machine(time.Now)})
	c := request(fresh(), []limit.Limit{storetest.Sliding(4, time.Minute, sec)}, 1)
	for i, at := range []time.Duration{0, time.Second, time.Second, time.Second} {
		now := epoch.Add(at)
		if v := charge(t, store, now, c); !v.Allowed || store.Denies(now, c, &limit.Verdict{}) != (i == 3) {
			t.Errorf("charge %d: %+v; the next one is denied without a call: %v", i, v.Result, i != 3)
		}
	}
	if v := charge(t, store, epoch.Add(time.Second), c); v.Allowed || !v.Snapshot {
		t.Errorf("a denial without a call: %+v, by a snapshot: %v", v.Result, v.Snapshot)
	}
}
