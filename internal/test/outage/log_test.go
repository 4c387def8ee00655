package outage

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
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

// small returns a world of one counter, in which nothing happens on its own, and
// a request at the epoch.
func small() (*world, *request) {
	w := &world{
		plan: &Plan{}, now: epoch, report: NewReport(),
		random: random{rand.New(rand.NewPCG(1, 1))}, counters: map[string]*counter{},
	}
	return w, &request{world: w, counter: w.newCounter(0), trueNow: epoch}
}

func TestOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		applied int
		allowed bool
		err     error
		broken  bool
	}{
		"admitted and charged":       {1, true, nil, false},
		"admitted and not charged":   {0, true, nil, true},
		"admitted and charged twice": {2, true, nil, true},
		"denied and not charged":     {0, false, nil, false},
		"denied and charged":         {1, false, nil, true},
		"unknown and charged":        {1, false, errReset, false},
		"unknown and charged twice":  {2, false, errReset, true},
	} {
		w, r := small()
		r.applied, r.err = test.applied, test.err
		if r.checkOutcome(test.allowed); (len(w.report.Violations) > 0) != test.broken {
			t.Errorf("%s: %v", name, w.report.Violations)
		}
	}
}

func TestFates(t *testing.T) {
	deadline := 250 * time.Millisecond
	for name, test := range map[string]struct {
		network Network
		dropped bool
		failure error
	}{
		"no fault":       {Network{}, false, nil},
		"throttled":      {Network{Throttled: 1}, true, dynamo.ErrThrottled},
		"lost request":   {Network{LostRequests: 1}, true, context.DeadlineExceeded},
		"lost answer":    {Network{LostAnswers: 1}, false, errReset},
		"stuck":          {Network{Stuck: 1, StuckFor: time.Minute}, false, context.DeadlineExceeded},
		"too slow":       {Network{Latency: deadline}, false, context.DeadlineExceeded},
		"past its share": {Network{Throttled: 1e-12}, false, nil},
	} {
		w, r := small()
		test.network.Deadline = deadline
		f := test.network.draw(w, &call{request: r})
		inTime := epoch <= f.answer && f.answer <= epoch+int64(deadline)
		if f.dropped != test.dropped || !inTime || !f.dropped && f.effect < epoch {
			t.Errorf("%s: %+v", name, f)
		}
		if name == "stuck" != (f.effect > epoch+int64(deadline)) && name != "too slow" {
			t.Errorf("%s: takes effect %v after it was sent", name, time.Duration(f.effect-epoch))
		}
		if test.failure != nil && !errors.Is(dynamo.Translate(f.failure, "t"), test.failure) {
			t.Errorf("%s: %v, want %v", name, f.failure, test.failure)
		}
	}
}
