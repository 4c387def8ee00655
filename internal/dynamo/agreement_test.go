package dynamo_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
)

func TestSeveralLimits(t *testing.T) {
	w := newWorld(t, 5, 60)
	c := w.charge(1)
	c.Limits = []limit.Limit{
		{Name: "burst", Capacity: 2, Window: 10 * time.Second, Granularity: time.Second},
		{Name: "fixed", Algorithm: limit.FixedWindow, Capacity: 9, Window: time.Minute, Granularity: time.Minute},
		{Name: "long", Capacity: 3, Window: time.Minute, Granularity: time.Second},
	}
	store, model := w.caller("A"), memory.New(0)
	for i, step := range []struct {
		slot    int64
		costs   []int64
		allowed bool
	}{
		{0, []int64{1, 1, 1}, true},
		{0, []int64{1, 5, 1}, true},
		{1, []int64{1, 1, 1}, false},  // the burst denies, and nothing is charged to the others
		{1, []int64{0, 1, 1}, true},   // without the burst there is room
		{12, []int64{1, 1, 1}, false}, // now the long one denies
		{12, []int64{2, 2, 0}, true},
		{12, []int64{0, 0, 0}, true},
		{13, []int64{0, 1, 0}, false}, // 9 of 9 in this minute
		{63, []int64{1, 1, 1}, true},
	} {
		c.Costs = step.costs
		var got, want limit.Verdict
		if err := store.Charge(context.Background(), w.time(step.slot), c, &got); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := model.Charge(context.Background(), w.time(step.slot), c, &want); err != nil {
			t.Fatal(err)
		}
		if got.Allowed != step.allowed || got.Result != want.Result || !slices.Equal(got.Limits, want.Limits) {
			t.Fatalf("step %d:\ngot    %+v\nmemory %+v", i, got, want)
		}
	}
}

// TestEightLimits charges eight limits of each algorithm in one write. The
// placeholders of their attributes and values must differ.
func TestEightLimits(t *testing.T) {
	for algorithm := range limit.Algorithm(len(limit.Algorithms())) {
		engine, table := newTable(t)
		store := dynamo.New(engine, table, dynamo.Options{Wall: func() time.Time { return epoch }})
		eight := slices.Repeat([]limit.Limit{one(algorithm)}, limit.MaxLimits)
		c := &limit.Charge{Key: key, Limits: eight, Costs: slices.Repeat([]int64{1}, len(eight))}
		var v limit.Verdict
		check := func(what string, left int64, err error) {
			t.Helper()
			if err != nil || !v.Allowed || v.Remaining != left {
				t.Errorf("%s, %s: %+v, error %v; want %d left of 3", algorithm, what, v.Result, err, left)
			}
		}
		ctx := context.Background()
		check("a new counter", 2, store.Charge(ctx, epoch, c, &v))
		check("by a snapshot", 1, store.Charge(ctx, epoch, c, &v))
		check("in a transaction", 0, store.ChargeAll(ctx, epoch, []*limit.Charge{c}, []*limit.Verdict{&v}))
		if !eight[0].Correctable() {
			continue
		}
		if err := store.Settle(ctx, epoch, c, &v.Receipt, []int64{-1, -1, -1, -1, -1, -1, -1, -1}); err != nil {
			t.Errorf("%s, refund: %v", algorithm, err)
		}
		if err := store.Settle(ctx, epoch, c, &v.Receipt, []int64{1, 1, 1, 1, 1, 1, 1, 1}); err != nil {
			t.Errorf("%s, extra charge: %v", algorithm, err)
		}
		check("refunded and charged again", 0, store.Peek(ctx, epoch, &limit.Charge{Key: key, Limits: eight, Costs: make([]int64, 8)}, &v))
	}
}

var agreementSeed = flag.Uint64("agreement.seed", 0, "draw the charges of TestAgreesWithMemory by this seed; 0 for a new one")

// TestAgreesWithMemory charges at random and expects the results of the memory
// store, for one caller whose clock is sometimes behind, and for four whose
// clocks agree. It does not combine the two: a caller with a clock behind and
// an old snapshot may be denied by an earlier window than the store's current
// one.
func TestAgreesWithMemory(t *testing.T) {
	seed := cmp.Or(*agreementSeed, uint64(time.Now().UnixNano()))
	t.Logf("-agreement.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, test := range []struct {
		callers int
		late    time.Duration
	}{{1, 1500 * time.Millisecond}, {4, 0}} {
		w := newWorld(t, 20, 7)
		model, ctx, elapsed := memory.New(0), context.Background(), time.Duration(0)
		for i := range 400 {
			elapsed += time.Duration(r.Int64N(int64(time.Second)))
			now := epoch.Add(elapsed - time.Duration(r.Int64N(int64(test.late+1))))
			c := w.charge(r.Int64N(5))
			var got, want limit.Verdict
			if err := w.caller(fmt.Sprint(r.IntN(test.callers))).Charge(ctx, now, c, &got); err != nil {
				t.Fatal(err)
			}
			if err := model.Charge(ctx, now, c, &want); err != nil {
				t.Fatal(err)
			}
			if got.Allowed != want.Allowed || (got.Allowed || test.callers == 1) && got.Result != want.Result {
				t.Fatalf("charge %d at %v, cost %d:\ngot    %+v\nmemory %+v", i, now.Sub(epoch), c.Costs[0], got.Result, want.Result)
			}
		}
	}
}
