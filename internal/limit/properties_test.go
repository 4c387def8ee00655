package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/limit"
)

// admitted is one charge of an exact log.
type admitted struct {
	at   time.Time
	cost int64
}

func drawLimit(t *rapid.T) limit.Limit {
	granularity := rapid.SampledFrom([]time.Duration{100 * ms, sec, 7 * sec}).Draw(t, "granularity")
	capacity := rapid.Int64Range(1, 12).Draw(t, "capacity")
	if rapid.Bool().Draw(t, "fixed") {
		return fixed(capacity, granularity)
	}
	return sliding(capacity, granularity*time.Duration(rapid.IntRange(1, 12).Draw(t, "slots")), granularity)
}

// mostInWindow returns the most units that the log holds in any window of length w, open at one end.
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

// TestProperties charges at random moments, some of them late, and holds every answer against an exact log.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		bound := l.Capacity
		if l.Algorithm == limit.FixedWindow {
			bound *= 2
		}
		var state limit.State
		var log []admitted
		now, newest := epoch, time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "charges") {
			now = now.Add(time.Duration(rapid.Int64Range(int64(-l.Granularity), int64(l.Window)/3).Draw(t, "step")))
			cost := rapid.Int64Range(0, l.Capacity+1).Draw(t, "cost")
			got := state.Judge(&l, now, cost)
			checkRemaining(t, &state, &l, now, got.Remaining)
			if !got.Allowed {
				checkRetryAfter(t, &state, &l, now, cost, got.RetryAfter)
				continue
			}
			if after := state.Take(&l, now, cost); after.Remaining != got.Remaining-cost && cost > 0 {
				t.Fatalf("%d left after %d of %d", after.Remaining, cost, got.Remaining)
			}
			if cost == 0 {
				continue
			}
			if now.After(newest) {
				newest = now
			}
			log = append(log, admitted{newest, cost}) // time never runs backwards for a key
		}
		if most := mostInWindow(log, l.Window); most > bound {
			t.Fatalf("%d units in a window of %v, bound %d: %v", most, l.Window, bound, log)
		}
	})
}

func checkRemaining(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, remaining int64) {
	if remaining > 0 && !state.Judge(l, now, remaining).Allowed {
		t.Fatalf("%d said to be left, but denied", remaining)
	}
	if state.Judge(l, now, remaining+1).Allowed {
		t.Fatalf("%d said to be left, but one more allowed", remaining)
	}
}

// checkRetryAfter holds the retry-after to the nanosecond: denied until then, allowed then.
func checkRetryAfter(t *rapid.T, state *limit.State, l *limit.Limit, now time.Time, cost int64, retry time.Duration) {
	if retry == limit.Never {
		if cost <= l.Capacity {
			t.Fatalf("never for a cost of %d, capacity %d", cost, l.Capacity)
		}
		return
	}
	if retry <= 0 || state.Judge(l, now.Add(retry-1), cost).Allowed {
		t.Fatalf("retry-after %v is later than it need be", retry)
	}
	if !state.Judge(l, now.Add(retry), cost).Allowed {
		t.Fatalf("retry-after %v is early", retry)
	}
}

// TestReset holds reset to the nanosecond: the key is empty then and not before.
func TestReset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t)
		var state limit.State
		now := epoch.Add(time.Duration(rapid.Int64Range(0, int64(l.Window)).Draw(t, "offset")))
		reset := state.Take(&l, now, rapid.Int64Range(1, l.Capacity).Draw(t, "cost")).Reset
		if state.Judge(&l, now.Add(reset-1), l.Capacity).Allowed {
			t.Fatalf("empty before its reset of %v", reset)
		}
		if !state.Judge(&l, now.Add(reset), l.Capacity).Allowed {
			t.Fatalf("not empty at its reset of %v", reset)
		}
	})
}
