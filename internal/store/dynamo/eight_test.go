package dynamo_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

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
