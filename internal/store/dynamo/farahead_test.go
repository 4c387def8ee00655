package dynamo

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

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
