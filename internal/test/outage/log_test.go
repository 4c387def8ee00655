package outage

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestIntervals compares the log with the definition. Some charges are late.
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

// TestLimitLog makes the log check charges of a limit of 10 in 10 s. All but the
// last are allowed.
func TestLimitLog(t *testing.T) {
	l := limit.Limit{Capacity: 10, Window: 10 * time.Second, Granularity: time.Second}
	for name, test := range map[string]struct {
		at     time.Duration
		cost   int64
		broken string
	}{
		"full":     {10900 * time.Millisecond, 1, ""},
		"too full": {10900 * time.Millisecond, 2, "11 units in a window of 11 slots"},
		"moved on": {11 * time.Second, 5, ""},
	} {
		var log limitLog
		charge := func(at time.Duration, cost int64) string {
			now := time.Unix(0, epoch).Add(at)
			broken, _ := log.charge(&charging{&l, cost, l.SlotAt(now), now, now.UnixNano(), now.UnixNano(), true})
			return broken
		}
		before := charge(0, 4) + charge(9900*time.Millisecond, 5)
		got := charge(test.at, test.cost)
		if before != "" || test.broken == "" && got != "" || !strings.Contains(got, test.broken) {
			t.Errorf("%s: before %q, the last charge %q, want %q", name, before, got, test.broken)
		}
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
