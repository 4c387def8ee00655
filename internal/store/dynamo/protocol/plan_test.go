package protocol

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestExpiry checks that an item expires an hour after the last of its limits
// has left its window, by the wall clock.
func TestExpiry(t *testing.T) {
	now := time.Unix(1_700_000_040, 0)
	seconds := limit.Limit{Capacity: 9, Window: 10 * time.Second, Granularity: time.Second}
	minute := limit.Limit{Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Minute, Granularity: time.Minute}
	bucket := limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1, Window: time.Second, Burst: 20}
	snapshot := func(states ...limit.State) *Snapshot {
		return &Snapshot{states: states, totals: make([]int64, len(states))}
	}
	newest := limit.State{Slots: limit.NewSlots([]limit.Slot{{Number: now.Unix() + 5, Units: 1}})}
	for name, test := range map[string]struct {
		limits   []limit.Limit
		snapshot *Snapshot
		wall     time.Duration // the wall clock, from now
		want     int64         // seconds from now, without the hour
	}{
		"ten seconds and a slot":           {[]limit.Limit{seconds}, nil, 0, 11},
		"a wall clock of its own":          {[]limit.Limit{seconds}, nil, -time.Hour, 11 - 3600},
		"a nanosecond more is a second":    {[]limit.Limit{seconds}, nil, 1, 12},
		"the newest slot, not the clock's": {[]limit.Limit{seconds}, snapshot(newest), 0, 16},
		"the rest of a minute":             {[]limit.Limit{minute}, nil, 0, 60},
		"the longest limit, first":         {[]limit.Limit{minute, seconds}, nil, 0, 60},
		"the longest limit, last":          {[]limit.Limit{seconds, minute}, nil, 0, 60},
		"a bucket that drains":             {[]limit.Limit{bucket}, nil, 0, 20},
		"a bucket that another clock filled": {
			[]limit.Limit{bucket}, snapshot(limit.NewBucket(now.Add(25 * time.Second).UnixNano())), 0, 25,
		},
		"a bucket beside a longer limit":  {[]limit.Limit{bucket, minute}, nil, 0, 60},
		"a bucket beside a shorter limit": {[]limit.Limit{seconds, bucket}, snapshot(newest, limit.State{}), 0, 20},
	} {
		c := &limit.Charge{Limits: test.limits, Costs: make([]int64, len(test.limits))}
		if got := PlanCharge(test.snapshot, c, now, now.Add(test.wall), true).ttl - now.Unix() - 3600; got != test.want {
			t.Errorf("%s: %d s and an hour, want %d s", name, got, test.want)
		}
	}
}
