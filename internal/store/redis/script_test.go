package redis_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// all is a rule with every algorithm.
func all() []limit.Limit {
	leaky := storetest.Leaky(4, time.Minute, 4)
	limits := []limit.Limit{
		storetest.Sliding(4, time.Minute, sec), storetest.Weighted(4, time.Minute), storetest.Exact(4, time.Minute), storetest.Token(4, time.Minute, 4), leaky,
		calendar(limit.Month, time.UTC),
	}
	limits[5].Capacity = 4
	for i := range limits {
		limits[i].Name = string(rune('a' + i))
	}
	return limits
}

// TestDenialWritesNothing checks that denials, peeks and zero costs change
// nothing that the server would replicate or save.
func TestDenialWritesNothing(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	const changes = "rdb_changes_since_last_save"
	c := request(fresh(), all(), 4, 4, 4, 4, 4, 4)
	charge(t, store, epoch, c)
	before, fields := info(t, server, "persistence", changes), stored(t, server, c.Key)
	if before == 0 {
		t.Fatal("an admission changes nothing either")
	}
	var v limit.Verdict
	for i := range all() {
		costs := make([]int64, len(all()))
		costs[i] = 1
		if v := charge(t, store, epoch, request(c.Key, all(), costs...)); v.Allowed {
			t.Errorf("limit %d allows more than its capacity", i)
		}
	}
	charge(t, store, epoch, request(c.Key, all(), math.MaxInt64, 1, math.MaxInt64, math.MaxInt64, 1, 1))
	charge(t, store, epoch, request(c.Key, all(), 0, 0, 0, 0, 0, 0))
	charge(t, store, epoch, request(fresh(), all(), 5, 5, 5, 5, 5, 5))
	if err := store.Peek(t.Context(), epoch.Add(26*time.Hour), c, &v); err != nil || !v.Allowed {
		t.Errorf("%+v, %v", v.Result, err)
	}
	cs := []*limit.Charge{request(fresh(), all(), 1, 1, 1, 1, 1, 1), request(c.Key, all(), 1, 1, 1, 1, 1, 1)}
	if err := store.ChargeAll(t.Context(), epoch, cs, []*limit.Verdict{{}, &v}); err != nil || v.Allowed {
		t.Errorf("%+v, %v", v.Result, err)
	}
	if got := info(t, server, "persistence", changes); got != before {
		t.Errorf("%d changes, want none", got-before)
	}
	if diff := cmp.Diff(fields, stored(t, server, c.Key)); diff != "" {
		t.Error(diff)
	}
}

// TestStored checks the fields that docs/redis.md shows. The next write drops
// the slots that no longer count; nothing else does. A charge in the newest slot
// leaves the slots before it alone.
func TestStored(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{CallerClock: true, NewGeneration: func() string { return "life" }})
	limits := []limit.Limit{storetest.Sliding(9, 3*sec, sec), storetest.Exact(9, 3*sec), storetest.Token(1, 7*sec, 3), storetest.Weighted(9, 3*sec)}
	key := fresh()
	const start, half = 1_000_000_000, 500_000_000
	at := func(d time.Duration) time.Time { return time.Unix(start, 0).Add(d) }
	for _, tc := range []struct {
		at    time.Duration
		costs []int64
		want  map[string]string
	}{
		{0, []int64{1, 1, 0, 2}, map[string]string{
			"a": window(start, 1, 0), "b": window(start, 1, 0), "d": window(333333333, 2, 0),
		}},
		{1500 * time.Millisecond, []int64{2, 3, 1, 1}, map[string]string{
			"a": window(start+1, 2, 1), "A": redis.PackSlot(start, 0, 1),
			"b": redis.PackWindow(start+1, half, 3, 1), "B": redis.PackSlot(start, 0, 1),
			"c": redis.PackBucket(start+8, half), "d": window(333333333, 3, 0),
		}},
		{time.Second, []int64{1, 1, 1, 1}, map[string]string{ // late
			"a": window(start+1, 3, 1), "A": redis.PackSlot(start, 0, 1),
			"b": redis.PackWindow(start+1, half, 4, 1), "B": redis.PackSlot(start, 0, 1),
			"c": redis.PackBucket(start+15, half), "d": window(333333333, 4, 0),
		}},
		{4*time.Second + 1, []int64{0, 9, 0, 0}, map[string]string{ // denied
			"a": window(start+1, 3, 1), "A": redis.PackSlot(start, 0, 1),
			"b": redis.PackWindow(start+1, half, 4, 1), "B": redis.PackSlot(start, 0, 1),
			"c": redis.PackBucket(start+15, half), "d": window(333333333, 4, 0),
		}},
		{4*time.Second + 1, []int64{1, 1, 0, 1}, map[string]string{
			"a": window(start+4, 1, 3), "A": redis.PackSlot(start+1, 0, 3),
			"b": redis.PackWindow(start+4, 1, 1, 4), "B": redis.PackSlot(start+1, half, 4),
			"c": redis.PackBucket(start+15, half), "d": window(333333334, 1, 4),
		}},
		{time.Hour, []int64{1, 1, 1, 1}, map[string]string{
			"a": window(start+3600, 1, 0), "A": "", "b": window(start+3600, 1, 0), "B": "",
			"c": redis.PackBucket(start+3607, 0), "d": window(333334533, 1, 0),
		}},
	} {
		tc.want["life"] = "life"
		charge(t, store, at(tc.at), request(key, limits, tc.costs...))
		if diff := cmp.Diff(tc.want, stored(t, server, key)); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", tc.at, diff)
		}
	}
}

// TestTTL checks that a counter stays until its last window has ended, and an
// hour more for clocks that are behind. The deciding clock gives the duration
// and the server's clock counts it, so the counters of a replayed log stay.
func TestTTL(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	day := calendar(limit.Day, time.UTC)
	apia, err := time.LoadLocation("Pacific/Apia")
	if err != nil {
		t.Fatal(err)
	}
	skipped := time.Date(2011, time.December, 31, 12, 0, 0, 0, apia).Sub(epoch) // there was no 30th
	for _, tc := range []struct {
		name   string
		limits []limit.Limit
		at     []time.Duration // of charges, after 22:00
		costs  []int64
		want   time.Duration // besides the hour
	}{
		{"sliding window", []limit.Limit{storetest.Sliding(9, time.Minute, sec)}, []time.Duration{300 * time.Millisecond}, []int64{1}, 61*sec - 300*time.Millisecond},
		{"by a clock that is behind", []limit.Limit{storetest.Sliding(9, time.Minute, sec)}, []time.Duration{30 * sec, 0}, []int64{1}, 91 * sec},
		{"weighted", []limit.Limit{storetest.Weighted(9, time.Minute)}, []time.Duration{10 * sec}, []int64{1}, 110 * sec},
		{"log", []limit.Limit{storetest.Exact(9, time.Minute)}, []time.Duration{10 * sec}, []int64{1}, 61 * sec},
		{"bucket", []limit.Limit{storetest.Token(1, time.Minute, 5)}, []time.Duration{0, 10 * sec}, []int64{1}, 111 * sec},
		{"day", []limit.Limit{day}, []time.Duration{0}, []int64{1}, 2 * time.Hour},
		{"day, by a clock an hour behind", []limit.Limit{day}, []time.Duration{2 * time.Hour, time.Hour}, []int64{1}, 25 * time.Hour},
		{"day, by a clock a week behind", []limit.Limit{day}, []time.Duration{7 * 24 * time.Hour, 0}, []int64{1}, (26 + 6*2*24) * time.Hour},
		{"day, by a clock before one that was skipped", []limit.Limit{calendar(limit.Day, apia)}, []time.Duration{skipped, skipped - 24*time.Hour}, []int64{1}, 60 * time.Hour},
		{"the latest of several", []limit.Limit{storetest.Sliding(9, sec, sec), storetest.Sliding(9, time.Minute, sec)}, []time.Duration{0}, []int64{1, 1}, 61 * sec},
		{"the limit of zero cost not at all", []limit.Limit{storetest.Sliding(9, sec, sec), storetest.Sliding(9, time.Minute, sec)}, []time.Duration{0}, []int64{1, 0}, 2 * sec},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := fresh()
			for _, at := range tc.at {
				charge(t, store, epoch.Add(at), request(key, tc.limits, tc.costs...))
			}
			wantTTL(t, server, key, tc.want)
		})
	}
	t.Run("zero cost for a long limit charged before", func(t *testing.T) {
		key, limits := fresh(), []limit.Limit{storetest.Sliding(9, sec, sec), storetest.Sliding(9, time.Hour, time.Minute)}
		charge(t, store, epoch, request(key, limits, 0, 1))
		charge(t, store, epoch.Add(time.Minute), request(key, limits, 1, 0))
		wantTTL(t, server, key, time.Hour)
	})
	t.Run("corrected upwards", func(t *testing.T) {
		c := request(fresh(), []limit.Limit{storetest.Sliding(9, time.Minute, sec)}, 1)
		v := charge(t, store, epoch, c)
		if err := store.Settle(t.Context(), epoch.Add(30*sec), c, &v.Receipt, []int64{3}); err != nil {
			t.Fatal(err)
		}
		wantTTL(t, server, c.Key, 61*sec)
	})
}

func wantTTL(t *testing.T, server *servers.Redis, key string, want time.Duration) {
	t.Helper()
	got, err := server.Client.PTTL(t.Context(), prefix+key).Result()
	if err != nil || got > want+time.Hour || got < want+time.Hour-10*sec {
		t.Errorf("it expires in %v, %v; want %v", got, err, want+time.Hour)
	}
}

// TestKeys checks that no two counters share a key, and that no client can
// choose the Cluster node of its counters.
func TestKeys(t *testing.T) {
	t.Parallel()
	server := servers.StartCluster(t)
	store := redis.New(connect(t, server.URL()), redis.Options{CallerClock: true})
	slots, counters := map[int64]bool{}, 0
	for i := range 20 {
		for _, form := range []string{"rule|{x}%d|s", "rule|x}%d|s", "rule|{}%d|s", "rule|{{x}}%d|s", "rule|%d{x}|s", "{x}|%d|s", "rule|%d x|s"} {
			key := fmt.Sprintf(form, i)
			for n := range 2 {
				if v := charge(t, store, epoch, request(key, []limit.Limit{storetest.Sliding(1, time.Minute, sec)}, 1)); v.Allowed != (n == 0) {
					t.Errorf("%s, charge %d: %+v", key, n, v.Result)
				}
			}
			counters++
			slot, err := server.Client.ClusterKeySlot(t.Context(), prefix+key).Result()
			if err != nil {
				t.Fatal(err)
			}
			slots[slot] = true
		}
	}
	if n, err := server.Client.DBSize(t.Context()).Result(); err != nil || int(n) != counters {
		t.Errorf("%d keys for %d counters, %v", n, counters, err)
	}
	if len(slots) < counters*9/10 {
		t.Errorf("%d counters are in %d hash slots", counters, len(slots))
	}
}

// TestRefundForALateClock refunds units to a slot that has left the window by
// the caller's clock. By a clock that is behind the slot still counts.
func TestRefundForALateClock(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	limits := []limit.Limit{storetest.Sliding(3, 10*sec, sec)}
	c := request(fresh(), limits, 2)
	first := charge(t, store, epoch, c)
	charge(t, store, epoch.Add(sec), request(c.Key, limits, 1))
	for range 2 { // the second time the slot is empty
		if err := store.Settle(t.Context(), epoch.Add(20*sec), c, &first.Receipt, []int64{-2}); err != nil {
			t.Fatal(err)
		}
	}
	if v := charge(t, store, epoch.Add(2*sec), request(c.Key, limits, 2)); !v.Allowed || v.Remaining != 0 {
		t.Errorf("%+v", v.Result)
	}
}
