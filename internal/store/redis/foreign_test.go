package redis_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// foreign lists fields that no script writes, of a counter with four limits:
// slots, log, bucket and weighted. At the time of the calls, the slot of the
// first is 1711836000.
var foreign = map[string][]any{
	"no life":                   {"a", window(1711836000, 1, 0)},
	"only another's field":      {"z", "1"},
	"an empty life":             {"life", "", "a", window(1711836000, 1, 0)},
	"an empty limit":            {"life", "x", "a", ""},
	"the earlier format":        {"life", "x", "a", "1711836000:1"},
	"half a field":              {"life", "x", "a", window(1711836000, 1, 0)[:27]},
	"a byte more":               {"life", "x", "a", window(1711836000, 1, 0) + "0"},
	"negative units":            {"life", "x", "a", window(1711836000, -1, 0)},
	"parts of units":            {"life", "x", "a", window(1711836000, 1.5, 0)},
	"too many units":            {"life", "x", "a", window(1711836000, 1<<53, 0)},
	"too many together":         {"life", "x", "a", window(1711836000, 1<<52, 1<<52)},
	"infinite units":            {"life", "x", "a", window(1711836000, math.Inf(1), 0)},
	"units of no number":        {"life", "x", "a", window(1711836000, math.NaN(), 0)},
	"fewer than none before":    {"life", "x", "a", window(1711836000, 1, -1)},
	"parts of units before":     {"life", "x", "a", window(1711836000, 1, 0.5)},
	"no number of units before": {"life", "x", "a", window(1711836000, 1, math.NaN())},
	"a part of a slot":          {"life", "x", "a", window(1711836000.5, 1, 0)},
	"no number of a slot":       {"life", "x", "a", window(math.NaN(), 1, 0)},
	"a slot too far":            {"life", "x", "a", window(1<<53, 1, 0)},
	"a slot in 2300":            {"life", "x", "a", window(10413792000, 1, 0)},
	"a slot in 1640":            {"life", "x", "a", window(-10413792000, 1, 0)},
	"a window's nanos":          {"life", "x", "a", redis.PackWindow(1711836000, 1, 1, 0)},
	"a second of nanos":         {"life", "x", "b", redis.PackWindow(1711836000, 1e9, 1, 0)},
	"a stamp at the end":        {"life", "x", "b", redis.PackWindow(9223372035, 0, 1, 0)},
	"a stamp in 9999":           {"life", "x", "b", redis.PackWindow(253370764800, 0, 1, 0)},
	"a bucket of slots":         {"life", "x", "c", window(1, 1, 0)},
	"half a bucket":             {"life", "x", "c", redis.PackDouble(1)},
	"a bucket in 9999":          {"life", "x", "c", redis.PackBucket(253370764800, 0)},
	"a bucket before all":       {"life", "x", "c", redis.PackBucket(-9223372036, 0)},
	"a bucket of no time":       {"life", "x", "c", redis.PackBucket(math.NaN(), 0)},
	"a bucket's nanos":          {"life", "x", "c", redis.PackBucket(1, 1e9)},
	"weighted letters":          {"life", "x", "d", "a:b"},
	"bytes":                     {"life", "x", "d", "\x00\xff\r\n"},

	// The slots before the newest contradict the sum in the header. The newest is
	// of the second before, so that every call reads them.
	"no slots, but a sum":   {"life", "x", "a", window(1711835999, 1, 2)},
	"half a slot":           {"life", "x", "a", window(1711835999, 1, 2), "A", redis.PackSlot(1711835998, 0, 2)[:19]},
	"too many slots":        {"life", "x", "a", window(1711835999, 1, 1002), "A", redis.PackSlots(1711834000, 1002)},
	"as new as the newest":  {"life", "x", "a", window(1711835999, 1, 2), "A", redis.PackSlot(1711835999, 0, 2)},
	"newer than the newest": {"life", "x", "a", window(1711835999, 1, 2), "A", redis.PackSlot(1711836000, 0, 2)},
	"more has left than was": {"life", "x", "a", window(1711835999, 1, 2),
		"A", redis.PackSlot(1711835000, 0, 3) + redis.PackSlot(1711835998, 0, 2)},
	"less has left than was": {"life", "x", "a", window(1711835999, 1, 2), "A", redis.PackSlot(1711835000, 0, 1)},
	"a slot of no units":     {"life", "x", "a", window(1711835999, 1, 2), "A", redis.PackSlot(1711835000, 0, math.NaN())},
}

// window packs a window without nanoseconds.
func window(at, units, before float64) string { return redis.PackWindow(at, 0, units, before) }

// TestForeign checks that every call on a counter which the script did not
// write is an error and changes nothing, and that a reset repairs it.
func TestForeign(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	limits := []limit.Limit{storetest.Sliding(9, time.Minute, sec), storetest.Exact(9, time.Minute), storetest.Token(9, time.Minute, 9), storetest.Weighted(9, time.Minute)}
	for name, fields := range foreign {
		t.Run(name, func(t *testing.T) {
			c := request(fresh(), limits, 1, 1, 1, 1)
			if fields[len(fields)-2] == "a" { // a script of its own decides by one window alone
				wantForeignFields(t, server, store, request(fresh(), limits[:1], 1), fields)
			}
			wantForeignFields(t, server, store, c, fields)
			wantMended(t, store, c)
		})
	}
	t.Run("no hash", func(t *testing.T) {
		c := request(fresh(), limits, 1, 1, 1, 1)
		if err := server.Client.Set(t.Context(), prefix+c.Key, "text", 0).Err(); err != nil {
			t.Fatal(err)
		}
		wantForeign(t, store, c)
		wantMended(t, store, c)
	})
}

// TestForeignRefund refunds a slot that holds more than the slots before the newest
// hold together.
func TestForeignRefund(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	c := request(fresh(), []limit.Limit{storetest.Sliding(9, time.Minute, sec)}, 3)
	if err := server.Client.HSet(t.Context(), prefix+c.Key, "life", "x", "a", window(1711836000, 1, 1), "A", redis.PackSlot(1711835999, 0, 5)).Err(); err != nil {
		t.Fatal(err)
	}
	before := stored(t, server, c.Key)
	r := limit.Receipt{Generation: "x", Slots: [limit.MaxLimits]int64{1711835999}}
	if err := store.Settle(t.Context(), epoch, c, &r, []int64{-3}); !errors.Is(err, redis.ErrForeign) {
		t.Error(err)
	}
	if diff := cmp.Diff(before, stored(t, server, c.Key)); diff != "" {
		t.Error(diff)
	}
}

func wantForeignFields(t *testing.T, server *servers.Redis, store *redis.Store, c *limit.Charge, fields []any) {
	t.Helper()
	if err := server.Client.HSet(t.Context(), prefix+c.Key, fields...).Err(); err != nil {
		t.Fatal(err)
	}
	before := stored(t, server, c.Key)
	wantForeign(t, store, c)
	if diff := cmp.Diff(before, stored(t, server, c.Key)); diff != "" {
		t.Error(diff)
	}
}

func wantForeign(t *testing.T, store *redis.Store, c *limit.Charge) {
	t.Helper()
	var v, w limit.Verdict
	for call, err := range map[string]error{
		"Charge":    store.Charge(t.Context(), epoch, c, &v),
		"Peek":      store.Peek(t.Context(), epoch, c, &w),
		"ChargeAll": store.ChargeAll(t.Context(), epoch, []*limit.Charge{request(fresh(), c.Limits, c.Costs...), c}, []*limit.Verdict{{}, {}}),
		"Settle":    store.Settle(t.Context(), epoch, c, &limit.Receipt{Generation: "x"}, []int64{1, 0, 0, 0}[:len(c.Limits)]),
	} {
		if !errors.Is(err, redis.ErrForeign) || !strings.Contains(err.Error(), "slidegate reset RULE KEY") || !errors.Is(err, limit.ErrGroup) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if v.Allowed || w.Allowed {
		t.Errorf("allowed: %+v, %+v", v.Result, w.Result)
	}
}

func wantMended(t *testing.T, store *redis.Store, c *limit.Charge) {
	t.Helper()
	if err := store.Reset(t.Context(), c.Key); err != nil {
		t.Fatal(err)
	}
	if v := charge(t, store, epoch, c); !v.Allowed || v.Remaining != 8 {
		t.Errorf("after a reset: %+v", v.Result)
	}
}

// TestRefundAgain uses a receipt several times: it takes units of other charges
// from the slot, and never more than the slot holds.
func TestRefundAgain(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	for _, l := range []limit.Limit{storetest.Sliding(10, time.Minute, sec), storetest.Weighted(10, time.Minute), storetest.Fixed(10, time.Minute)} {
		for after, want := range map[time.Duration]int64{0: 10, l.Granularity: 7} {
			limits, key := []limit.Limit{l}, fresh()
			c := request(key, limits, 4)
			first := charge(t, store, epoch, c)
			now := epoch.Add(after)
			charge(t, store, now, request(key, limits, 3))
			for range 3 {
				if err := store.Settle(t.Context(), now, c, &first.Receipt, []int64{-3}); err != nil {
					t.Fatal(err)
				}
			}
			if v := charge(t, store, now, request(key, limits, 11)); v.Remaining != want {
				t.Errorf("%s, with another charge %v later: %d left, want %d", l.Algorithm, after, v.Remaining, want)
			}
		}
	}
}

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
