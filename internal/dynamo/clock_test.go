package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestClock is a table of answers: the local time when each request was sent
// and its answer received, the server's time, and the offset afterwards. The
// Date is the server's time without the fraction.
func TestClock(t *testing.T) {
	epoch := time.Unix(1_700_000_000, 0)
	type answer struct {
		sent, received, server time.Duration
		offset                 time.Duration
		confirmed              bool
	}
	ms := time.Millisecond
	for name, trace := range map[string][]answer{
		"a correct clock is never changed": {
			{0, 5 * ms, 2 * ms, 0, true},
			{990 * ms, 1010 * ms, 999 * ms, 0, true},
			{1990 * ms, 2010 * ms, 2001 * ms, 0, true},
		},
		"an error of a second is within the precision of Date": {
			{5000 * ms, 5010 * ms, 4100 * ms, 0, true},
			{5000 * ms, 5010 * ms, 5900 * ms, 0, true},
		},
		"ten seconds ahead: two answers running mend it": {
			{10 * time.Second, 10*time.Second + 20*ms, 500 * ms, 0, false},
			{11 * time.Second, 11*time.Second + 20*ms, 1500 * ms, -9510 * ms, true},
			{12 * time.Second, 12*time.Second + 20*ms, 2500 * ms, -9510 * ms, true},
		},
		"ten seconds behind": {
			{0, 20 * ms, 10500 * ms, 0, false},
			{time.Second, 1020 * ms, 11500 * ms, 10490 * ms, true},
		},
		"one odd answer alone changes nothing": {
			{0, 20 * ms, 10 * ms, 0, true},
			{time.Second, 1020 * ms, 50 * time.Second, 0, false},
			{2 * time.Second, 2020 * ms, 2010 * ms, 0, true},
			{3 * time.Second, 3020 * ms, 50 * time.Second, 0, false},
		},
		"just within the precision of Date, and just not": {
			{0, 1000 * ms, 2000 * ms, 0, true},
			{0, 999 * ms, 2000 * ms, 0, false},
			{3000*ms - 1, 3010 * ms, 1000 * ms, 0, true},
			{3000 * ms, 3010 * ms, 1000 * ms, 0, false},
		},
		"mended, it takes two misses again": {
			{10 * time.Second, 10 * time.Second, 500 * ms, 0, false},
			{11 * time.Second, 11 * time.Second, 1500 * ms, -9500 * ms, true},
			{12 * time.Second, 12 * time.Second, 50 * time.Second, -9500 * ms, false},
			{13 * time.Second, 13 * time.Second, 51 * time.Second, 38500 * ms, true},
		},
		"confirmed, it takes two misses again": {
			{0, 20 * ms, 10 * ms, 0, true},
			{time.Second, 1020 * ms, 50 * time.Second, 0, false},
			{2 * time.Second, 2020 * ms, 51 * time.Second, 49490 * ms, true},
		},
		"a process frozen while it waited keeps its offset": {
			{0, time.Hour, 30 * time.Minute, 0, true},
			{time.Hour, 2 * time.Hour, time.Hour, 0, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var local time.Time
			clock := NewClock(func() time.Time { return local })
			if clock.Confirmed() {
				t.Error("confirmed before any answer")
			}
			for i, a := range trace {
				local = epoch.Add(a.received)
				clock.Observe(epoch.Add(a.sent), local, epoch.Add(a.server).Truncate(time.Second))
				if got := clock.Now().Sub(local); got != a.offset || clock.Confirmed() != a.confirmed {
					t.Errorf("answer %d: offset %v, confirmed %v; want %v, %v", i, got, clock.Confirmed(), a.offset, a.confirmed)
				}
			}
		})
	}
}

// TestClockOnTheWall checks that the time has no monotonic reading, which would
// print as m=. It stands still while a process is frozen.
func TestClockOnTheWall(t *testing.T) {
	if now := NewClock(time.Now).Now(); strings.Contains(now.String(), "m=") {
		t.Errorf("got %v", now)
	}
}

// TestFarAhead reads counters that a clock far ahead has charged. They are an
// error, but only if the reader's clock is confirmed.
func TestFarAhead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	seconds := limit.Limit{Capacity: 9, Window: 10 * time.Second, Granularity: time.Second}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 10, Window: 10 * time.Second, Burst: 5} // five seconds
	newest := func(ahead time.Duration) map[string]int64 {
		slot := now.Add(ahead).Unix()
		return map[string]int64{"bC": 1, "bH": slot, "b" + strconv.FormatInt(slot, 36): 1}
	}
	full := func(ahead time.Duration) map[string]int64 {
		return map[string]int64{"bT": now.Add(ahead).UnixNano()}
	}
	for name, test := range map[string]struct {
		limit     limit.Limit
		item      map[string]int64
		confirmed bool
		err       error
	}{
		"three seconds and a slot":        {seconds, newest(4 * time.Second), true, nil},
		"a slot more":                     {seconds, newest(5 * time.Second), true, ErrAhead},
		"an hour":                         {seconds, newest(time.Hour), true, ErrAhead},
		"an hour, by a clock unsure":      {seconds, newest(time.Hour), false, nil},
		"an hour ago":                     {seconds, newest(-time.Hour), true, nil},
		"never":                           {seconds, nil, true, nil},
		"three seconds and a full bucket": {bucket, full(8 * time.Second), true, nil},
		"a nanosecond more":               {bucket, full(8*time.Second + 1), true, ErrAhead},
	} {
		c := &limit.Charge{Limits: []limit.Limit{seconds, test.limit}, Costs: []int64{1, 1}}
		store := New(nil, "", Options{Confirmed: func() bool { return test.confirmed }})
		snapshot := snapshotOf(t, "generation", c.Limits, test.item, now)
		if _, err := store.decide(context.Background(), now, c, snapshot, &limit.Verdict{}); !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", name, err, test.err)
		}
	}
}
