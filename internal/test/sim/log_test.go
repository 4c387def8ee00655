package sim

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestIntervals compares the log with the definition. Some charges are late,
// and some are refunded in part.
func TestIntervals(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 5 {
		var log intervals
		var all []entry
		length, now := 100+random.Int64N(50), int64(0)
		for range 1500 {
			now += random.Int64N(5)
			e := entry{now - random.Int64N(80)*random.Int64N(2), 1 + random.Int64N(4)}
			if random.IntN(200) == 0 {
				length--
			}
			all = append(all, e)
			if got, want := log.add(e.at, e.units, time.Duration(length)), fullest(all, e.at, length); got != want {
				t.Fatalf("a charge at %d: %d units in an interval of %d, want %d", e.at, got, length, want)
			}
			if random.IntN(5) == 0 {
				if back := &all[len(all)-1-random.IntN(min(len(all), 10))]; back.units > 0 {
					back.units--
					log.refund(back.at, 1)
				}
			}
		}
	}
}

// fullest returns the most units of any interval (t-length, t] that contains a
// time. Only intervals that end at a charge matter.
func fullest(all []entry, at, length int64) (most int64) {
	for i := max(0, len(all)-200); i < len(all); i++ {
		end := all[i].at
		if end < at || end-length >= at {
			continue
		}
		var sum int64
		for j := max(0, len(all)-200); j < len(all); j++ {
			if all[j].at > end-length && all[j].at <= end {
				sum += all[j].units
			}
		}
		most = max(most, sum)
	}
	return most
}

func TestSlotLog(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for width := range int64(5) {
		log, all := slotLog{width: width + 1}, map[int64]int64{}
		for slot := int64(0); slot < 500; slot += random.Int64N(3) {
			at, units := slot-random.Int64N(2)*random.Int64N(width+1), 1+random.Int64N(3)
			log.add(at, units)
			all[at] += units
			var want int64
			for first := at - width; first <= at; first++ {
				var sum int64
				for j := first; j <= first+width; j++ {
					sum += all[j]
				}
				want = max(want, sum)
			}
			if got := log.most(at); got != want {
				t.Fatalf("%d units in some window of %d slots around slot %d, want %d", got, width+1, at, want)
			}
		}
	}
}

const second = int64(time.Second)

// TestLimitLog makes each algorithm's log check charges. All but the last are
// allowed.
func TestLimitLog(t *testing.T) {
	at := func(seconds float64) time.Time { return time.Unix(0, epoch+int64(seconds*float64(second))) }
	window := func(a limit.Algorithm, granularity time.Duration, burst int64) limit.Limit {
		return limit.Limit{Algorithm: a, Capacity: 10, Window: 10 * time.Second, Granularity: granularity, Burst: burst}
	}
	type taken struct {
		at   float64
		cost int64
	}
	tests := map[string]struct {
		limit  limit.Limit
		before []taken
		last   taken
		broken string
	}{
		"sliding window, full":       {window(limit.SlidingWindow, time.Second, 0), []taken{{0, 4}, {9.9, 5}}, taken{10.9, 1}, ""},
		"sliding window, too full":   {window(limit.SlidingWindow, time.Second, 0), []taken{{0, 4}, {9.9, 5}}, taken{10.9, 2}, "11 units in a window of 11 slots"},
		"sliding window, moved on":   {window(limit.SlidingWindow, time.Second, 0), []taken{{0, 4}, {9.9, 5}}, taken{11, 5}, ""},
		"fixed window, full":         {window(limit.FixedWindow, 10*time.Second, 0), []taken{{0, 4}}, taken{9.9, 6}, ""},
		"fixed window, too full":     {window(limit.FixedWindow, 10*time.Second, 0), []taken{{0, 4}}, taken{9.9, 7}, "11 units in window"},
		"fixed window, the next":     {window(limit.FixedWindow, 10*time.Second, 0), []taken{{0, 4}}, taken{10, 10}, ""},
		"counter, half of the older": {window(limit.SlidingWindowCounter, 10*time.Second, 0), []taken{{0, 10}}, taken{15, 5}, ""},
		"counter, rounded up":        {window(limit.SlidingWindowCounter, 10*time.Second, 0), []taken{{0, 10}}, taken{14.9, 5}, "11 units as weighted"},
		"counter, twice the capacity": {
			window(limit.SlidingWindowCounter, 10*time.Second, 0), []taken{{9.9, 10}}, taken{19.899, 10}, "units as weighted",
		},
		"log, full":              {window(limit.SlidingWindowLog, limit.Exact, 0), []taken{{0, 10}}, taken{10, 10}, ""},
		"log, too full":          {window(limit.SlidingWindowLog, limit.Exact, 0), []taken{{0, 10}}, taken{9.999999999, 1}, "11 units within 10s"},
		"bucket, empty":          {window(limit.TokenBucket, 0, 5), []taken{{0, 5}}, taken{1, 1}, ""},
		"bucket, more than that": {window(limit.TokenBucket, 0, 5), []taken{{0, 5}}, taken{0.999, 1}, "overdrawn by 1ms"},
		"bucket, refilled":       {window(limit.LeakyBucket, 0, 5), []taken{{0, 5}, {5, 5}}, taken{10, 5}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var log limitLog
			charge := func(c taken) string {
				now := at(c.at)
				slot := int64(0)
				if !test.limit.Bucket() {
					slot = test.limit.SlotAt(now)
				}
				broken, _ := log.charge(&charging{&test.limit, c.cost, slot, now, now.UnixNano(), now.UnixNano(), true})
				return broken
			}
			for _, c := range test.before {
				if broken := charge(c); broken != "" {
					t.Fatalf("charging %d at %v s: %s", c.cost, c.at, broken)
				}
			}
			broken := charge(test.last)
			if test.broken == "" && broken != "" || !strings.Contains(broken, test.broken) {
				t.Errorf("the last charge: %q, want %q", broken, test.broken)
			}
		})
	}
}

// TestTrueTime overfills a window of true time by clocks that are right, wrong
// by less than the window, and wrong by more. No window of slots is too full.
func TestTrueTime(t *testing.T) {
	l := limit.Limit{Capacity: 10, Window: 10 * time.Second, Granularity: time.Second}
	for _, test := range []struct {
		name   string
		error  time.Duration // of the second clock
		after  time.Duration // by true time
		broken bool
	}{
		{"right clocks, within a window", 0, 9 * time.Second, true},
		{"right clocks, a window later", 0, 10 * time.Second, false},
		{"clocks differ by 2 s, within the shortened window", 2 * time.Second, 7 * time.Second, true},
		{"clocks differ by 2 s, a little later", 2 * time.Second, 8 * time.Second, false},
		{"clocks differ by the window", 10 * time.Second, time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log limitLog
			first := charging{&l, 10, 0, time.Unix(0, epoch), epoch, epoch, true}
			trueNow := epoch + int64(test.after)
			second := charging{&l, 10, 100, time.Unix(0, trueNow).Add(test.error), trueNow, trueNow, true}
			if broken, _ := log.charge(&first); broken != "" {
				t.Fatal(broken)
			}
			broken, peak := log.charge(&second)
			if (broken != "") != test.broken {
				t.Errorf("%q, broken should be %v", broken, test.broken)
			}
			if want := 2.0; test.after < l.Window && peak != want {
				t.Errorf("peak %v, want %v", peak, want)
			}
		})
	}
}
