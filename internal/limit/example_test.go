package limit_test

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// TestDocumentedResult checks the numbers in the documentation of limit.Result.
func TestDocumentedResult(t *testing.T) {
	noon := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	l := limit.Limit{Capacity: 100, Window: time.Minute, Granularity: time.Second}
	var state limit.State
	state.Take(&l, at(10), 97)
	for cost, want := range map[int64]limit.Result{
		3:   {Allowed: true, Remaining: 3, Reset: 41 * time.Second},
		4:   {Remaining: 3, Reset: 41 * time.Second, RetryAfter: 41 * time.Second},
		101: {Remaining: 3, Reset: 41 * time.Second, RetryAfter: limit.Never},
	} {
		if got := state.Decide(&l, at(30), cost); got != want {
			t.Errorf("cost %d: got %+v, want %+v", cost, got, want)
		}
	}
	if got, want := state.Take(&l, at(30), 3), (limit.Result{Allowed: true, Reset: 61 * time.Second}); got != want {
		t.Errorf("charged 3: got %+v, want %+v", got, want)
	}

	queue := limit.Limit{Algorithm: limit.LeakyBucket, Capacity: 60, Window: time.Minute, Burst: 10}
	var queued limit.State
	queued.Take(&queue, noon, 5)
	if got := queued.Take(&queue, noon, 1).Delay; got != 5*time.Second {
		t.Errorf("delay behind 5 units: %v, want 5s", got)
	}
}

// TestDocumentedVerdict checks the numbers in the documentation of
// limit.Verdict.
func TestDocumentedVerdict(t *testing.T) {
	now := time.Unix(1_700_000_040, 0)
	c := &limit.Charge{
		Limits: []limit.Limit{
			{Name: "requests", Capacity: 10, Window: time.Minute, Granularity: time.Second},
			{Name: "tokens", Capacity: 4000, Window: time.Minute, Granularity: time.Second},
		},
		Costs: []int64{1, 500},
	}
	states := make([]limit.State, 2)
	states[0].Take(&c.Limits[0], now, 2)
	states[1].Take(&c.Limits[1], now, 3800)
	var v limit.Verdict
	limit.Decide(states, c, now, &v)
	if v.Allowed || v.Remaining != 8 {
		t.Errorf("combined: %+v, want a denial with 8 remaining", v.Result)
	}
	if !v.Limits[0].Allowed || v.Limits[0].Remaining != 8 || v.Limits[1].Allowed || v.Limits[1].Remaining != 200 {
		t.Errorf("each: %+v", v.Limits[:2])
	}
	if got := v.Receipt.Slots[0]; got != 1_700_000_040 {
		t.Errorf("slot %d, want the Unix time", got)
	}
}
