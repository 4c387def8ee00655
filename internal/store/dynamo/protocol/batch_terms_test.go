package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// minute begins windows, slots and the worlds of these tests.
var minute = time.Unix(1_700_000_040, 0)

func (w *batchWorld) of(costs ...int64) *limit.Charge {
	return &limit.Charge{Key: "key", Limits: w.limits, Costs: costs}
}

func newBatchWorld(t *testing.T, limits ...limit.Limit) *batchWorld {
	return &batchWorld{t: t, table: dynamomodel.New("counters", AttributeKey), limits: limits}
}

// tokens refills one unit a second, and holds three.
var tokens = limit.Limit{Algorithm: limit.TokenBucket, Capacity: 4, Window: 4 * time.Second, Burst: 3}

var slots = limit.Limit{Capacity: 5, Window: 4 * time.Second, Granularity: time.Second}

// TestBatchMembers adds a charge to the batch of a first one of 1 unit, on a
// counter that was charged 1 unit just before.
func TestBatchMembers(t *testing.T) {
	log := limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: 5, Window: 4 * time.Second, Granularity: limit.Exact}
	weighted := limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: 5, Window: 4 * time.Second, Granularity: 4 * time.Second}
	for name, test := range map[string]struct {
		limit limit.Limit
		after time.Duration // the first charge
		cost  int64
		other int64 // the capacity of the second charge's limit; 0 for that of the first
		want  bool
	}{
		"the same slot":            {limit: slots, after: 100 * time.Millisecond, cost: 3, want: true},
		"no room":                  {limit: slots, cost: 4},
		"an earlier time":          {limit: slots, after: -time.Nanosecond, cost: 1},
		"the next slot":            {limit: slots, after: time.Second, cost: 1},
		"another capacity":         {limit: slots, cost: 1, other: 9},
		"the counter's slot":       {limit: weighted, after: time.Second, cost: 3, want: true},
		"a log's later time":       {limit: log, after: time.Second, cost: 3, want: true},
		"a bucket that drains":     {limit: tokens, after: 1500 * time.Millisecond, cost: 1, want: true},
		"a bucket full by then":    {limit: tokens, after: 2500 * time.Millisecond, cost: 1},
		"nothing of one full then": {limit: tokens, after: 2500 * time.Millisecond, want: true},
	} {
		w := newBatchWorld(t, test.limit)
		w.write(PlanCharge(nil, w.of(1), minute, minute, true))
		b, second := NewBatch(w.read(), w.of(1), minute), w.of(test.cost)
		if test.other != 0 {
			second.Limits = []limit.Limit{test.limit}
			second.Limits[0].Capacity = test.other
		}
		if got := b.Add(second, minute.Add(test.after)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestBatchOfAFullBucket adds a charge that comes after the bucket has refilled
// what the first took. The batch sets the time, so it can be any.
func TestBatchOfAFullBucket(t *testing.T) {
	w := newBatchWorld(t, tokens)
	b := NewBatch(nil, w.of(1), minute)
	if !b.Add(w.of(1), minute.Add(3*time.Second)) || !w.write(b.Plan(minute, true)) {
		t.Fatal("the batch was not written")
	}
	if full, _ := w.read().states[0].Full(); full != minute.Add(4*time.Second).UnixNano() {
		t.Errorf("the bucket is full at %v", time.Unix(0, full))
	}
}

// TestBatchIsAsStrictAsEachCharge has another caller charge 2 units under a
// batch. That leaves room for the second charge, which is later, but not for the
// first.
func TestBatchIsAsStrictAsEachCharge(t *testing.T) {
	w := newBatchWorld(t, tokens)
	before := minute.Add(-800 * time.Millisecond)
	w.write(PlanCharge(nil, w.of(1), before, before, true)) // full 0.2 s after the minute
	b := NewBatch(w.read(), w.of(1), minute)
	if !b.Add(w.of(1), minute.Add(1200*time.Millisecond)) {
		t.Fatal("the second charge is not in the batch")
	}
	if !w.write(PlanCharge(w.read(), w.of(2), minute, minute, true)) {
		t.Fatal("the other caller was refused")
	}
	if w.write(b.Plan(minute, true)) {
		t.Error("the first charge was made without room")
	}
}

// TestBatchVerify has another program take units out of a counter right after
// the write of a batch.
func TestBatchVerify(t *testing.T) {
	for name, l := range map[string]limit.Limit{"slots": slots, "bucket": tokens} {
		w := newBatchWorld(t, l)
		b := NewBatch(nil, w.of(1), minute)
		if !b.Add(w.of(1), minute) || !w.write(b.Plan(minute, true)) {
			t.Fatal("the batch was not written")
		}
		after := w.read()
		if err := b.Verify(after); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l.Bucket() {
			after.states[0] = limit.NewBucket(minute.UnixNano() + int64(l.Interval()) - 1)
		} else {
			after.states[0].Refund(minute.Unix(), 1)
		}
		if err := b.Verify(after); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: too few units: error %v", name, err)
		}
	}
}
