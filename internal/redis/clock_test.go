package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/redistest"
)

// By the server's clock the caller's decides nothing, were it years away.
func TestServerClock(t *testing.T) {
	server := redistest.Start(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	leaky := bucket(3600, time.Hour, 10)
	leaky.Algorithm = limit.LeakyBucket
	for _, l := range []limit.Limit{
		sliding(2, time.Hour, time.Minute), {Algorithm: limit.FixedWindow, Capacity: 2, Window: time.Hour, Granularity: time.Hour},
		weighted(2, time.Hour), exact(2, time.Hour), bucket(2, time.Hour, 2), leaky,
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

func serverTime(t *testing.T, server *redistest.Server) time.Time {
	t.Helper()
	now, err := server.Client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// The server finds its own window of a calendar, as long as the caller's clock is less than a window away.
func TestServerCalendar(t *testing.T) {
	server := redistest.Start(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	for unit, away := range map[limit.Unit]time.Duration{limit.Day: 20 * time.Hour, limit.Week: 6 * day, limit.Month: 27 * day} {
		l := calendar(unit, berlin)
		key := fresh()
		for i, off := range []time.Duration{0, away, -away} {
			before := serverTime(t, server)
			v := charge(t, store, before.Add(off), request(key, []limit.Limit{l}, 1))
			if i == 2 && v.Allowed || i < 2 && !v.Allowed {
				t.Errorf("unit %d, a clock %v away: %+v", unit, off, v.Result)
			}
			want := l.Until(l.SlotAt(before)+1, before)
			if v.Reset > want || v.Reset < want-10*sec {
				t.Errorf("unit %d, a clock %v away: empty in %v, want %v", unit, off, v.Reset, want)
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
