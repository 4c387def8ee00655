package redis_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// TestServerClock checks that the caller's clock has no effect, even if it is
// years away, when the server's decides.
func TestServerClock(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	leaky := storetest.Leaky(3600, time.Hour, 10)
	for _, l := range []limit.Limit{
		storetest.Sliding(2, time.Hour, time.Minute), storetest.Fixed(2, time.Hour),
		storetest.Weighted(2, time.Hour), storetest.Exact(2, time.Hour), storetest.Token(2, time.Hour, 2), leaky,
	} {
		t.Run(l.Algorithm.String(), func(t *testing.T) {
			var earlier, later limit.State
			before := serverTime(t, server)
			v := charge(t, store, epoch, request(fresh(), []limit.Limit{l}, 1))
			after := serverTime(t, server)
			first, last := earlier.Take(&l, before, 1), later.Take(&l, after, 1)
			took := after.Sub(before)
			if v.Remaining != first.Remaining || v.Reset < min(first.Reset, last.Reset)-took || v.Reset > max(first.Reset, last.Reset)+took {
				t.Errorf("%+v, want between %+v and %+v", v.Result, first, last)
			}
		})
	}
}

func serverTime(t *testing.T, server *servers.Redis) time.Time {
	t.Helper()
	now, err := server.Client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// TestFarAhead charges counters that are ahead of the server's clock. By more
// than three seconds and a slot, as no promoted replica is, every call is an
// error until a reset, and nothing is charged.
func TestFarAhead(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	hourly := storetest.Token(3600, time.Hour, 60)
	for name, test := range map[string]struct {
		limit  limit.Limit
		record func(now float64) string // by Unix seconds
		ahead  bool
	}{
		"slots":              {storetest.Sliding(9, time.Hour, time.Minute), func(now float64) string { return window(math.Floor(now/60)+3, 1, 0) }, true},
		"slots, the next":    {storetest.Sliding(9, time.Hour, time.Minute), func(now float64) string { return window(math.Floor(now/60)+1, 1, 0) }, false},
		"slots, 3 seconds":   {storetest.Sliding(9, time.Minute, sec), func(now float64) string { return window(now+3, 1, 0) }, false},
		"weighted":           {storetest.Weighted(9, time.Minute), func(now float64) string { return window(math.Floor(now/60)+3, 1, 0) }, true},
		"weighted, near":     {storetest.Weighted(9, time.Minute), func(now float64) string { return window(math.Floor(now/60)+1, 1, 0) }, false},
		"calendar":           {calendar(limit.Day, time.UTC), func(now float64) string { return window(math.Floor(now/86400)+3, 1, 0) }, true},
		"calendar, years":    {calendar(limit.Day, time.UTC), func(now float64) string { return window(math.Floor(now/86400)+999, 1, 0) }, true},
		"calendar, the day":  {calendar(limit.Day, time.UTC), func(now float64) string { return window(math.Floor(now/86400), 1, 0) }, false},
		"calendar, the next": {calendar(limit.Day, time.UTC), func(now float64) string { return window(math.Floor(now/86400)+1, 1, 0) }, false},
		"log":                {storetest.Exact(9, time.Hour), func(now float64) string { return window(now+60, 1, 0) }, true},
		"log, near":          {storetest.Exact(9, time.Hour), func(now float64) string { return window(now+2, 1, 0) }, false},
		"log, 3 seconds":     {storetest.Exact(9, time.Hour), func(now float64) string { return window(now+3, 1, 0) }, false},
		"bucket":             {hourly, func(now float64) string { return redis.PackBucket(now+60+60, 0) }, true},
		"bucket, full":       {hourly, func(now float64) string { return redis.PackBucket(now+60+1, 0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := serverTime(t, server)
			c := request(fresh(), []limit.Limit{test.limit}, 1)
			if err := server.Client.HSet(t.Context(), prefix+c.Key, "life", "x", "a", test.record(float64(now.Unix()))).Err(); err != nil {
				t.Fatal(err)
			}
			before := stored(t, server, c.Key)
			var v limit.Verdict
			for call, err := range map[string]error{
				"Peek":      store.Peek(t.Context(), now, c, &limit.Verdict{}),
				"Charge":    store.Charge(t.Context(), now, c, &v),
				"ChargeAll": store.ChargeAll(t.Context(), now, []*limit.Charge{request(fresh(), c.Limits, 1), c}, []*limit.Verdict{{}, {}}),
			} {
				if test.ahead && (!errors.Is(err, redis.ErrAhead) || !errors.Is(err, limit.ErrGroup) || !strings.Contains(err.Error(), "slidegate reset RULE KEY")) || !test.ahead && err != nil {
					t.Errorf("%s: %v", call, err)
				}
			}
			if !test.ahead {
				return
			}
			if after := stored(t, server, c.Key); v.Allowed || after["a"] != before["a"] {
				t.Errorf("was %v, is %v, %+v", before, after, v.Result)
			}
			if v := charge(t, open(t, server), now, request(c.Key, c.Limits, 0)); !v.Allowed {
				t.Errorf("with the caller's clock: %+v", v.Result)
			}
			if err := store.Reset(t.Context(), c.Key); err != nil {
				t.Fatal(err)
			}
			if v := charge(t, store, now, c); !v.Allowed {
				t.Errorf("after a reset: %+v", v.Result)
			}
		})
	}
}

// TestServerCalendar checks that the server finds its own window of a calendar
// if the caller's clock is less than a window away.
func TestServerCalendar(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	for unit, away := range map[limit.Unit]time.Duration{limit.Day: 20 * time.Hour, limit.Week: 6 * day, limit.Month: 27 * day} {
		l := calendar(unit, berlin)
		key, opened := fresh(), l.SlotAt(serverTime(t, server)) // at midnight another window may open
		for i, off := range []time.Duration{0, away, -away} {
			before := serverTime(t, server)
			v := charge(t, store, before.Add(off), request(key, []limit.Limit{l}, 1))
			after := serverTime(t, server)
			first, last := l.SlotAt(before), l.SlotAt(after)
			if first == last && v.Allowed != (i < 2) && opened == last {
				t.Errorf("unit %d, a clock %v away: %+v", unit, off, v.Result)
			}
			most, least := l.Until(first+1, before), l.Until(last+1, after)
			if first == last && (v.Reset > most || v.Reset < least) {
				t.Errorf("unit %d, a clock %v away: reset in %v, want %v to %v", unit, off, v.Reset, least, most)
			}
		}
		for _, off := range []time.Duration{100 * day, -100 * day} {
			var v limit.Verdict
			err := store.Charge(t.Context(), time.Now().Add(off), request(key, []limit.Limit{l}, 1), &v)
			if !errors.Is(err, redis.ErrClock) || v.Allowed {
				t.Errorf("unit %d, a clock %v away: %+v, %v", unit, off, v.Result, err)
			}
		}
	}
}
