package protocol

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

var batchSeed = flag.Uint64("batch.seed", 0, "draw the batches of TestBatch by this seed; 0 for a new one")

// batchWorld is a counter that callers charge one by one, and in batches.
type batchWorld struct {
	*rand.Rand
	t      *testing.T
	table  *dynamomodel.Table
	limits []limit.Limit
}

// TestBatch makes random batches by one write each. It compares the item and the
// verdicts with the same charges made one after another by package limit, on the
// counter as it was. A batch planned by a fresh snapshot is never refused.
func TestBatch(t *testing.T) {
	seed := cmp.Or(*batchSeed, uint64(time.Now().UnixNano()))
	t.Logf("-batch.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	shared := map[limit.Algorithm]int{} // batches of several charges that were written
	for range 20_000 {
		w := batchWorld{r, t, dynamomodel.New("counters", AttributeKey), nil}
		for range 1 + r.IntN(2) {
			w.limits = append(w.limits, w.limit(limit.Algorithm(r.IntN(len(limit.Algorithms())))))
		}
		if w.run() > 1 {
			shared[w.limits[0].Algorithm]++
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if len(shared) < len(limit.Algorithms()) {
		t.Errorf("batches by algorithm: %v", shared)
	}
}

// limit returns a limit of a few units, whose windows last a few seconds.
func (w *batchWorld) limit(a limit.Algorithm) limit.Limit {
	l := limit.Limit{Algorithm: a, Capacity: 2 + w.Int64N(6), Window: 4 * time.Second, Granularity: 4 * time.Second}
	switch a {
	case limit.SlidingWindow:
		l.Granularity = time.Second
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
	case limit.TokenBucket, limit.LeakyBucket:
		l.Granularity, l.Burst = 0, 2+w.Int64N(5)
	}
	return l
}

// time returns a time within a second or so.
func (w *batchWorld) time(second int64) time.Time {
	return time.Unix(1_700_000_040+second, w.Int64N(5)*int64(200*time.Millisecond))
}

func (w *batchWorld) charge() *limit.Charge {
	c := &limit.Charge{Key: "key", Limits: w.limits, Costs: make([]int64, len(w.limits))}
	for c.ZeroCost() {
		for i := range c.Costs {
			c.Costs[i] = w.Int64N(3)
		}
	}
	return c
}

// read returns a snapshot of the item; nil if there is none.
func (w *batchWorld) read() *Snapshot {
	item := w.table.Item("key")
	if item == nil {
		return nil
	}
	s, err := Read(item, w.limits, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *batchWorld) write(p *Plan) (written bool) { return w.update(p.Update("generation")) }

func (w *batchWorld) update(u *Update) (written bool) {
	_, err := w.table.UpdateItem(context.Background(), dynamomodel.Alone(u.Request("counters", "key")))
	if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !failed {
		w.t.Fatal(err)
	}
	return err == nil
}

// run charges the counter a few times, and then by one batch. It returns the
// size of the batch, 0 if it was refused.
func (w *batchWorld) run() int {
	second := int64(0)
	var s *Snapshot // of some earlier time
	for range w.IntN(6) {
		second += w.Int64N(3)
		c, now, v := w.charge(), w.time(second), limit.Verdict{}
		if fresh := w.read(); !denies(fresh, c, now, &v) && !w.write(PlanCharge(fresh, c, now, now, true)) {
			w.t.Fatal("a charge by a fresh snapshot is refused")
		}
		if w.IntN(3) > 0 {
			s = w.read()
		}
		if w.IntN(3) == 0 {
			w.giveBack(w.read(), c, now)
		}
	}
	second += 1 + w.Int64N(3) // a clock behind may draw on the credit of one ahead, which package limit lacks
	now, first := w.time(second), w.charge()
	if denies(s, first, now, &limit.Verdict{}) {
		return 0
	}
	b, charges, times := NewBatch(s, first, now), []*limit.Charge{first}, []time.Time{now}
	for range w.IntN(5) {
		if c, now := w.charge(), w.time(second+w.Int64N(2)); b.Add(c, now) {
			charges, times = append(charges, c), append(times, now)
		}
	}
	before := w.read()
	if !w.write(b.Plan(now, true)) {
		if before == nil || reflect.DeepEqual(s, before) {
			w.t.Errorf("limits %+v: a batch by a fresh snapshot is refused", w.limits)
		}
		return 0
	}
	w.compare(b, before, charges, times)
	return len(charges)
}

// giveBack gives back the turns of a charge that has left a snapshot, and compares
// the item with package limit.
func (w *batchWorld) giveBack(left *Snapshot, c *limit.Charge, now time.Time) (written bool) {
	var v limit.Verdict
	left.Admit(c, now, &v)
	deltas, states := make([]int64, len(c.Limits)), cloneAll(left.states)
	for i := range deltas {
		if c.Limits[i].Algorithm == limit.LeakyBucket {
			deltas[i] = -c.Costs[i]
		}
	}
	limit.Settle(states, nil, c, now, &v.Receipt, deltas)
	u := PlanSettlement(left, c, &v.Receipt, deltas, now, now, "")
	if written = u != nil && w.update(u); !written {
		return false
	}
	for i, after := 0, w.read(); i < len(states); i++ {
		got, _ := after.states[i].Full()
		if want, _ := states[i].Full(); got != want && c.Limits[i].Bucket() {
			w.t.Fatalf("limit %+v is full at %d, want %d", c.Limits[i], got, want)
		}
	}
	return true
}

func denies(s *Snapshot, c *limit.Charge, now time.Time, v *limit.Verdict) bool {
	s.Decide(c, now, v)
	return !v.Allowed
}

// compare makes the charges of a batch one after another on the counter as it
// was before.
func (w *batchWorld) compare(b *Batch, before *Snapshot, charges []*limit.Charge, times []time.Time) {
	after, states, verdicts := w.read(), cloneAll(before.known()[:len(w.limits)]), make([]limit.Verdict, len(charges))
	if err := b.Verify(after); err != nil {
		w.t.Errorf("limits %+v: %v", w.limits, err)
	}
	b.Admit(after, verdicts)
	for n, c := range charges {
		var want limit.Verdict
		limit.Apply(states, nil, c, times[n], &want)
		want.Receipt.Generation = after.Generation
		if got := &verdicts[n]; !want.Allowed || got.Result != want.Result || got.Receipt != want.Receipt {
			w.t.Errorf("limits %+v, charge %d of %d:\ngot  %+v\nwant %+v", w.limits, n, len(charges), *got, want)
		}
	}
	for at := range int64(10) { // the item says the same from now on
		c, now := w.charge(), w.time(at)
		var got, want limit.Verdict
		limit.Decide(after.states, nil, c, now, &got)
		if limit.Decide(states, nil, c, now, &want); got.Result != want.Result {
			w.t.Errorf("limits %+v, after a batch of %d, cost %d at %v:\ngot  %+v\nwant %+v", w.limits, len(charges), c.Costs, now, got.Result, want.Result)
		}
	}
}

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

// TestGivenBack gives the last of two turns of a bucket back, or writes by a
// snapshot from before. A unit refills in a second.
func TestGivenBack(t *testing.T) {
	queue := limit.Limit{Algorithm: limit.LeakyBucket, Capacity: 4, Window: 4 * time.Second, Burst: 3}
	after := func(d time.Duration) time.Time { return minute.Add(d) }
	for name, refused := range map[string]func(w *batchWorld, old *Snapshot) *Plan{
		"a charge of a bucket that was draining": func(w *batchWorld, old *Snapshot) *Plan { // now it has been full for half a second
			return PlanCharge(old, w.of(1), after(1500*time.Millisecond), minute, true)
		},
		"a batch whose second charge finds it full": func(w *batchWorld, old *Snapshot) *Plan {
			b := NewBatch(old, w.of(1), after(500*time.Millisecond))
			if !b.Add(w.of(1), after(2500*time.Millisecond)) {
				w.t.Fatal("the second charge is not in the batch")
			}
			return b.Plan(minute, true)
		},
	} {
		w := newBatchWorld(t, queue)
		for range 2 {
			w.write(PlanCharge(w.read(), w.of(1), minute, minute, true))
		}
		old := w.read()
		plan := refused(w, old)
		if !w.giveBack(old, w.of(1), minute) || w.write(plan) {
			t.Errorf("%s: it was written", name)
		}
		w.write(PlanCharge(w.read(), w.of(1), minute, minute, true))
		w.write(PlanCharge(w.read(), w.of(1), minute, minute, true))
		if w.giveBack(old, w.of(1), minute) {
			t.Errorf("%s: a turn with another behind it was given back", name)
		}
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
