package redis_test

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

var numbered atomic.Int64

func fresh() string { return fmt.Sprintf("rule|key:%d|00000000", numbered.Add(1)) }

// TestLargeNumbers compares the script's arithmetic with package limit where
// doubles would lose digits: capacities up to the largest, windows of microseconds
// to years, in odd numbers of nanoseconds if the algorithm allows it, and times
// to the nanosecond, from the year 1700 to 2240.
func TestLargeNumbers(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	rapid.Check(t, func(t *rapid.T) {
		l := drawLarge(t)
		var state limit.State
		key, now := fresh(), time.Unix(rapid.Int64Range(-8_500_000_000, 8_500_000_000).Draw(t, "start"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		for range 12 {
			cost := rapid.Int64Range(1, l.MaxCost()+1).Draw(t, "cost")
			if rapid.Bool().Draw(t, "small") {
				cost = max(1, cost/1000)
			}
			got, want := decideBoth(t, store, key, &l, &state, now, cost)
			if got != want {
				t.Fatalf("%+v at %v, cost %d: %+v, want %+v", l, now, cost, got, want)
			}
			now = now.Add(drawStep(t, &l, want.RetryAfter))
		}
	})
}

func drawLarge(t *rapid.T) limit.Limit {
	capacity := rapid.Int64Range(1, limit.MaxCapacity).Draw(t, "capacity")
	window := time.Duration(rapid.SampledFrom([]int64{1, 17, 60_000_007, 86_400_000_000, 31_536_000_000_001}).Draw(t, "window")) * time.Microsecond
	switch rapid.IntRange(0, 3).Draw(t, "algorithm") {
	case 0:
		return storetest.Sliding(capacity, window, window)
	case 1:
		return storetest.Exact(min(capacity, rapid.Int64Range(1, limit.MaxLog).Draw(t, "most")), window+time.Duration(rapid.IntRange(0, 999).Draw(t, "odd")))
	case 2:
		l := storetest.Token(1+capacity%max(1, int64(window/100)), window+1, 0)
		l.Burst = rapid.Int64Range(1, min(limit.MaxCapacity, int64(limit.MaxDrain/l.Interval()))).Draw(t, "burst")
		return l
	}
	return storetest.Weighted(capacity, window)
}

// drawStep draws the time until the next charge: the retry-after or about it, a
// part of the window, or a step back.
func drawStep(t *rapid.T, l *limit.Limit, retry time.Duration) time.Duration {
	near := time.Duration(rapid.IntRange(-1, 1).Draw(t, "near"))
	if retry > 0 && rapid.Bool().Draw(t, "waits") {
		return retry + near
	}
	return l.Window/time.Duration(rapid.SampledFrom([]int64{1, 2, 3, 1000, -3}).Draw(t, "part")) + near
}

// decideBoth charges the store and a state of package limit.
func decideBoth(t *rapid.T, store *redis.Store, key string, l *limit.Limit, state *limit.State, now time.Time, cost int64) (got, want limit.Result) {
	var v limit.Verdict
	if err := store.Charge(t.Context(), now, request(key, []limit.Limit{*l}, cost), &v); err != nil {
		t.Fatal(err)
	}
	if want = state.Decide(l, now, cost); want.Allowed {
		want = state.Take(l, now, cost)
	}
	return v.Result, want
}

// TestFarAboveCapacity checks that a counter far above its capacity, as
// corrections may leave it, is still decided and corrected exactly.
func TestFarAboveCapacity(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	limits := []limit.Limit{storetest.Weighted(limit.MaxCapacity, time.Hour)}
	c := request(fresh(), limits, limit.MaxCapacity)
	first := charge(t, store, epoch, c)
	states := make([]limit.State, 1)
	state := &states[0]
	state.Take(&limits[0], epoch, limit.MaxCapacity)
	for range 100 {
		if err := store.Settle(t.Context(), epoch, c, &first.Receipt, []int64{limit.MaxCapacity}); err != nil {
			t.Fatal(err)
		}
		_ = limit.Settle(states, nil, c, epoch, &first.Receipt, []int64{limit.MaxCapacity})
	}
	wait := state.Decide(&limits[0], epoch, 1).RetryAfter
	for _, at := range []time.Duration{0, time.Hour - 1, time.Hour, wait - 1, wait} {
		c := request(c.Key, limits, 1)
		var v limit.Verdict
		if err := store.Peek(t.Context(), epoch.Add(at), c, &v); err != nil {
			t.Fatal(err)
		}
		if want := state.Decide(&limits[0], epoch.Add(at), 1); v.Result != want {
			t.Errorf("after %v: %+v, want %+v", at, v.Result, want)
		}
	}
}

// TestMostUnits checks that a window never exceeds the integers that Lua has
// exactly.
func TestMostUnits(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	c := request(fresh(), []limit.Limit{storetest.Sliding(10, time.Minute, sec)}, 1)
	first := charge(t, store, epoch, c)
	slot := first.Receipt.Slots[0]
	if err := server.Client.HSet(t.Context(), prefix+c.Key, "a", window(float64(slot), 1<<53-3, 1), "A", redis.PackSlot(float64(slot-1), 0, 1)).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := store.Settle(t.Context(), epoch, c, &first.Receipt, []int64{5}); err != nil {
			t.Fatal(err)
		}
		if got, want := stored(t, server, c.Key)["a"], window(float64(slot), 1<<53-2, 1); got != want {
			t.Errorf("the field is %x, want %x", got, want)
		}
	}
	if v := charge(t, store, epoch, c); v.Allowed || v.Remaining != 0 {
		t.Errorf("%+v", v.Result)
	}
}

// TestSlotsTooFine checks that slots which the script could not number exactly
// are refused.
func TestSlotsTooFine(t *testing.T) {
	store := open(t, servers.StartRedis(t))
	for _, l := range []limit.Limit{
		storetest.Sliding(1, 100, 10), storetest.Weighted(1, 1500*time.Nanosecond), storetest.Sliding(1, time.Minute+1, time.Minute+1),
	} {
		c := request(fresh(), []limit.Limit{l}, 1)
		var v limit.Verdict
		err := store.Charge(t.Context(), epoch, c, &v)
		if err == nil || v.Allowed {
			t.Errorf("slots of %v: %+v, %v", l.Granularity, v.Result, err)
		}
		if err := store.Settle(t.Context(), epoch, c, &limit.Receipt{}, []int64{1}); err == nil {
			t.Errorf("slots of %v are corrected", l.Granularity)
		}
		cs := []*limit.Charge{request(fresh(), []limit.Limit{storetest.Sliding(1, time.Minute, sec)}, 1), c}
		if err := store.ChargeAll(t.Context(), epoch, cs, []*limit.Verdict{{}, {}}); !errors.Is(err, limit.ErrGroup) {
			t.Errorf("slots of %v: %v, which concerns the other rule too", l.Granularity, err)
		}
	}
	c := request(fresh(), []limit.Limit{storetest.Sliding(math.MaxUint32, time.Microsecond, time.Microsecond)}, 1)
	if v := charge(t, store, epoch, c); !v.Allowed {
		t.Errorf("slots of a microsecond: %+v", v.Result)
	}
}
