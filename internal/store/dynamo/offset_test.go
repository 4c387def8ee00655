package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
)

// wire draws the answers that a wall clock receives from a server.
type wire struct {
	*rand.Rand
	now    time.Duration // true time, which is the server's
	offset float64       // server time less wall time, in nanoseconds
	drift  float64       // of the offset, as a share of the time that passes
}

func newWire(seed uint64) *wire {
	w := &wire{Rand: rand.New(rand.NewPCG(seed, 1))}
	w.offset = (2*w.Float64() - 1) * float64(5*second)
	w.drift = (2*w.Float64() - 1) * clock.MaxDrift
	return w
}

func (w *wire) pass(d time.Duration) {
	w.now += d
	w.offset += w.drift * float64(d)
}

func (w *wire) wall() time.Time { return start.Add(w.now - time.Duration(w.offset)) }

// answer lets some time pass, and then sends a request and gets its answer.
func (w *wire) answer() (sent, received, date time.Time) {
	w.pass(w.some(10 * second))
	sent = w.wall()
	w.pass(w.some(20 * ms))
	date = start.Add(w.now).Truncate(second)
	w.pass(w.some(20 * ms))
	return sent, w.wall(), date
}

// some draws a duration below a bound: mostly far below.
func (w *wire) some(below time.Duration) time.Duration {
	return time.Duration(w.Float64() * w.Float64() * float64(below))
}

// TestTrueOffset checks, for servers whose dates are right and clocks that
// drift within their bound, that the true offset always lies in the interval,
// that no answer ever contradicts it, and that the estimate lies in it from the
// second answer on.
func TestTrueOffset(t *testing.T) {
	for seed := range uint64(500) {
		w, o := newWire(seed), offset{}
		for i := range 200 {
			o.observe(w.answer())
			if truth := time.Duration(w.offset); !o.interval.contains(truth) {
				t.Fatalf("seed %d, answer %d: %v is not in [%v, %v)", seed, i, truth, o.interval.low, o.interval.high)
			}
			if o.rival.answers > 0 || i > 0 && !o.confirmed {
				t.Fatalf("seed %d, answer %d: rival %+v, confirmed %v", seed, i, o.rival, o.confirmed)
			}
		}
	}
}

// TestError measures the estimate's error by the number of answers, with a
// request and an answer every second or so and a round trip of 4 ms.
func TestError(t *testing.T) {
	const runs = 400
	errors := map[int][]time.Duration{1: nil, 2: nil, 5: nil, 10: nil, 30: nil, 100: nil, 1000: nil}
	for seed := range uint64(runs) {
		w, o := newWire(seed), offset{}
		for n := 1; n <= 1000; n++ {
			w.pass(time.Duration(w.Float64() * float64(2*second)))
			sent := w.wall()
			w.pass(2 * ms)
			date := start.Add(w.now).Truncate(second)
			w.pass(2 * ms)
			o.observe(sent, w.wall(), date)
			if _, ok := errors[n]; ok {
				errors[n] = append(errors[n], (o.estimate - time.Duration(w.offset)).Abs())
			}
		}
	}
	for n, most := range map[int][2]time.Duration{2: {500 * ms, second}, 10: {120 * ms, 500 * ms}, 100: {25 * ms, 110 * ms}, 1000: {20 * ms, 60 * ms}} {
		slices.Sort(errors[n])
		median, p99 := errors[n][runs/2], errors[n][runs*99/100]
		t.Logf("%4d answers: median %v, 99%% within %v", n, median.Round(ms), p99.Round(ms))
		if median > most[0] || p99 > most[1] {
			t.Errorf("%d answers: median %v, 99%% within %v; want %v", n, median, p99, most)
		}
	}
}

// TestBurst: a burst has answers of one part of DynamoDB's second only. Two clocks
// that are clearly wrong agree after it all the same.
func TestBurst(t *testing.T) {
	for _, test := range []struct{ wrong, apart time.Duration }{{second, second/2 + 30*ms}, {1500 * ms, 30 * ms}, {5 * second, 30 * ms}, {time.Hour, 30 * ms}} {
		for part := time.Duration(0); part < 950*ms; part += 50 * ms {
			var ahead, behind offset
			for i := range 100 {
				now := start.Add(part + time.Duration(i)*ms/2)
				ahead.observe(now.Add(test.wrong), now.Add(test.wrong+2*ms), now.Truncate(second))
				behind.observe(now.Add(-test.wrong), now.Add(-test.wrong+2*ms), now.Truncate(second))
			}
			if apart := ahead.estimate + test.wrong - (behind.estimate - test.wrong); apart.Abs() > test.apart {
				t.Errorf("wrong by %v, after a burst %v into a second: %v apart, want %v", test.wrong, part, apart, test.apart)
			}
		}
	}
}

// TestServersDiffer: answers come from two servers whose clocks differ. The
// estimate is never further from the one in their middle than they are.
func TestServersDiffer(t *testing.T) {
	for _, skew := range []time.Duration{2 * ms, 25 * ms, 200 * ms, 500 * ms} {
		for seed := range uint64(20) {
			w, o := newWire(seed), offset{}
			w.offset, w.drift = 0, 0
			for i := range 5000 {
				sent, received, _ := w.answer()
				server := skew
				if w.IntN(2) == 0 {
					server = -skew
				}
				o.observe(sent, received, received.Add(server).Truncate(second))
				if o.estimate.Abs() > skew {
					t.Fatalf("servers %v apart, seed %d, answer %d: the estimate is %v", 2*skew, seed, i, o.estimate)
				}
			}
		}
	}
}

// TestStepsAreFound has the wall clock step at some time: the interval contains
// the new offset within 1,000 answers, however small the step.
func TestStepsAreFound(t *testing.T) {
	for _, step := range []time.Duration{20 * ms, 100 * ms, 500 * ms, second, 2 * second, time.Hour} {
		for seed := range uint64(50) {
			w, o := newWire(seed), offset{}
			for range 100 {
				o.observe(w.answer())
			}
			if seed%2 == 0 {
				w.offset += float64(step)
			} else {
				w.offset -= float64(step)
			}
			n := 0
			for ; n < 1000 && (n < 2 || !o.interval.contains(time.Duration(w.offset))); n++ {
				o.observe(w.answer())
			}
			if error := (o.estimate - time.Duration(w.offset)).Abs(); n == 1000 || step >= 2*second && n > 2 || error > second+100*ms {
				t.Errorf("a step of %v, seed %d: found after %d answers, error %v", step, seed, n, error)
			}
		}
	}
}

// TestRivals is a table of dates by what they say of the offset: each answer
// allows the interval [low, low + 1 s].
func TestRivals(t *testing.T) {
	type answer struct{ low, estimate time.Duration }
	for name, trace := range map[string][]answer{
		"an answer that fits both changes neither": {
			{-500 * ms, 0}, {-300 * ms, 0}, {-999 * ms, 0}, // [-300 ms, 1 ms]
			{100 * ms, 0},       // contradicts: a rival from 100 ms on
			{-200 * ms, 0},      // fits both
			{50 * ms, 100 * ms}, // contradicts again, and fits the rival: [100 ms, 800 ms]
		},
		"an answer that fits the interval alone removes the rival": {
			{-500 * ms, 0}, {-300 * ms, 0}, {-999 * ms, 0},
			{100 * ms, 0},
			{-950 * ms, 0},
			{50 * ms, 0},
		},
	} {
		var o offset
		for i, a := range trace {
			at := start.Add(-a.low)
			o.at = at // no time passes
			if o.observe(at, at, start); o.estimate.Round(ms) != a.estimate {
				t.Errorf("%s: answer %d: estimate %v, want %v", name, i, o.estimate, a.estimate)
			}
		}
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
