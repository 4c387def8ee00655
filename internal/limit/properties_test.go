package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// admitted is one charge of an exact log.
type admitted struct {
	at     time.Time // no earlier than those before it: time never runs backwards for a key
	leaves time.Time // when a leaky bucket lets it go
	cost   int64
}

func drawLimit(t *rapid.T) limit.Limit {
	units := rapid.OneOf(rapid.Int64Range(1, limit.MaxCapacity), rapid.Int64Range(limit.MaxCapacity-2, limit.MaxCapacity))
	capacity := rapid.OneOf(units, rapid.Int64Range(1, 12)).Draw(t, "capacity")
	burst := rapid.OneOf(rapid.Int64Range(1, 12), units).Draw(t, "burst")
	window := rapid.SampledFrom([]time.Duration{7, 100 * ms, sec, 7 * sec, 60 * sec}).Draw(t, "window")
	day := &limit.Calendar{Unit: limit.Day, Location: drawZone(t)}
	return rapid.SampledFrom([]limit.Limit{
		sliding(capacity, window*time.Duration(rapid.IntRange(1, 12).Draw(t, "slots")), window),
		fixed(capacity, window), weighted(capacity, window), exact(capacity, window),
		token(capacity, window, burst), leaky(capacity, window, burst), calendar(capacity, day),
	}).Filter(func(l limit.Limit) bool { return l.Valid() }).Draw(t, "limit")
}

// bound returns what docs/accuracy.md promises: the most units in any
// window of a length.
func bound(l *limit.Limit) (units int64, window time.Duration) {
	switch l.Algorithm {
	case limit.SlidingWindow, limit.SlidingWindowLog:
		return l.Capacity, l.Window
	case limit.SlidingWindowCounter:
		return 2*l.Capacity - 1, l.Window
	case limit.TokenBucket, limit.LeakyBucket:
		return l.Burst + l.Capacity, l.Window
	}
	if l.Calendar != nil {
		return 2 * l.Capacity, 22 * time.Hour // the shortest day
	}
	return 2 * l.Capacity, l.Window
}

// mostInWindow returns the most units of the log in any window of length w,
// open at one end.
func mostInWindow(log []admitted, w time.Duration) (most int64) {
	for i := range log {
		var units int64
		for _, a := range log[i:] {
			if a.at.Sub(log[i].at) < w {
				units += a.cost
			}
		}
		most = max(most, units)
	}
	return most
}

// TestProperties charges at random times, some of them late, and checks every
// result against an exact log.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		var state limit.State
		var log []admitted
		now, newest := epoch, time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "charges") {
			now = now.Add(drawStep(t, &l))
			cost := rapid.Int64Range(0, l.MaxCost()+1).Draw(t, "cost")
			got := state.Decide(&l, now, cost)
			checkRemaining(t, &state, &l, now, got.Remaining)
			checkReset(t, &state, &l, now, got.Reset)
			if !got.Allowed {
				checkRetryAfter(t, &state, &l, now, cost, got.RetryAfter)
				continue
			}
			after := state.Take(&l, now, cost)
			checkTaken(t, &state, &l, now, cost, got, after)
			if cost == 0 {
				continue
			}
			if now.After(newest) {
				newest = now
			}
			log = append(log, admitted{newest, now.Add(after.Delay), cost})
		}
		if most, window := bound(&l); mostInWindow(log, window) > most {
			t.Fatalf("%d units in a window of %v, bound %d: %v", mostInWindow(log, window), window, most, log)
		}
		checkPace(t, &l, log)
	})
}

// drawStep draws a step forward of up to half a window, or a small one back.
func drawStep(t *rapid.T, l *limit.Limit) time.Duration {
	switch rapid.IntRange(0, 3).Draw(t, "pace") {
	case 0:
		return time.Duration(rapid.Int64Range(-1, 1).Draw(t, "tick"))
	case 1:
		return time.Duration(rapid.Int64Range(-int64(l.Window)/4, int64(l.Window)/4).Draw(t, "step"))
	}
	return time.Duration(rapid.Int64Range(0, int64(l.Window)/2).Draw(t, "stride"))
}

func checkRemaining(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, remaining int64) {
	if remaining > 0 && !state.Decide(l, now, remaining).Allowed {
		t.Fatalf("%d units remain, but are denied", remaining)
	}
	if state.Decide(l, now, remaining+1).Allowed {
		t.Fatalf("%d units remain, but one more is allowed", remaining)
	}
}

// checkRetryAfter checks the retry-after to the nanosecond: the cost is denied
// before, and allowed then.
func checkRetryAfter(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, cost int64, retry time.Duration) {
	if retry == limit.Never {
		if cost <= l.MaxCost() {
			t.Fatalf("retry-after Never for a cost of %d of %d", cost, l.MaxCost())
		}
		return
	}
	if retry <= 0 || state.Decide(l, now.Add(retry-1), cost).Allowed {
		t.Fatalf("retry-after %v is too late", retry)
	}
	if !state.Decide(l, now.Add(retry), cost).Allowed {
		t.Fatalf("retry-after %v is too early", retry)
	}
}

// checkReset checks the reset to the nanosecond: the key is empty then and not
// before. The state expires at the same time.
func checkReset(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, reset time.Duration) {
	empty := limit.Result{Allowed: true, Remaining: l.MaxCost()}
	if got := state.Decide(l, now.Add(reset), l.MaxCost()); got != empty {
		t.Fatalf("the key is not empty at its reset of %v: %+v", reset, got)
	}
	if reset > 0 && state.Decide(l, now.Add(reset-1), l.MaxCost()) == empty {
		t.Fatalf("the key is empty before its reset of %v", reset)
	}
	if expiry := state.Expiry(l, now); expiry != reset {
		t.Fatalf("the state expires in %v, and is empty in %v", expiry, reset)
	}
}

// checkTaken compares a charge with the decision before it, and the remaining
// units with those of the state afterwards.
func checkTaken(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, cost int64, decided, taken limit.Result) {
	if !taken.Allowed || taken.Remaining != decided.Remaining-cost || taken.Delay != decided.Delay || taken.RetryAfter != 0 {
		t.Fatalf("decided %+v, and %+v after a charge of %d", decided, taken, cost)
	}
	var v limit.Verdict
	limit.AfterCharge([]limit.State{*state}, nil, "generation", &limit.Charge{Limits: []limit.Limit{*l}, Costs: []int64{cost}}, now, &v)
	if v.Result != taken || v.Receipt.Generation != "generation" || v.Receipt.Serial != 0 || !l.Bucket() && v.Receipt.Slots[0] != state.Current(l, now) {
		t.Fatalf("Take returned %+v, and AfterCharge %+v", taken, v)
	}
	if cost > 0 && !state.Consistent(l, now, cost) {
		t.Fatalf("the state is not consistent with the charge of %d units", cost)
	}
}

// checkPace checks the delays of a leaky bucket: a request leaves one interval
// for each of its units before the next. Other algorithms never delay.
func checkPace(t *rapid.T, l *limit.Limit, log []admitted) {
	for i := range log {
		if l.Algorithm != limit.LeakyBucket {
			if log[i].leaves.After(log[i].at) {
				t.Fatalf("a %s delays a request", l.Algorithm)
			}
			continue
		}
		if i == 0 {
			continue
		}
		pace := time.Duration(log[i-1].cost) * l.Interval()
		if apart := log[i].leaves.Sub(log[i-1].leaves); apart < pace {
			t.Fatalf("requests leave %v apart, want %v", apart, pace)
		}
	}
}
