package protocol

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
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

func (w *batchWorld) write(p *Plan) (written bool) {
	_, err := w.table.UpdateItem(context.Background(), dynamomodel.Alone(p.Update("generation").Request("counters", "key")))
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
		if before == nil || s != nil && slices.Equal(s.totals, before.totals) && s.Generation == before.Generation {
			w.t.Errorf("limits %+v: a batch by a fresh snapshot is refused", w.limits)
		}
		return 0
	}
	w.compare(b, before, charges, times)
	return len(charges)
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
		limit.Apply(states, c, times[n], &want)
		want.Receipt.Generation = after.Generation
		if got := &verdicts[n]; !want.Allowed || got.Result != want.Result || got.Receipt != want.Receipt {
			w.t.Errorf("limits %+v, charge %d of %d:\ngot  %+v\nwant %+v", w.limits, n, len(charges), *got, want)
		}
	}
	for at := range int64(10) { // the item says the same from now on
		c, now := w.charge(), w.time(at)
		var got, want limit.Verdict
		limit.Decide(after.states, c, now, &got)
		if limit.Decide(states, c, now, &want); got.Result != want.Result {
			w.t.Errorf("limits %+v, after a batch of %d, cost %d at %v:\ngot  %+v\nwant %+v", w.limits, len(charges), c.Costs, now, got.Result, want.Result)
		}
	}
}
