package storetest

import (
	"context"
	"testing"

	"github.com/slidegate/slidegate/internal/limit"
)

// badCharges are charges that every store must refuse.
var badCharges = map[string]func(*limit.Charge){
	"no limits":           func(c *limit.Charge) { c.Limits, c.Costs = nil, nil },
	"nine limits":         func(c *limit.Charge) { c.Limits, c.Costs = make([]limit.Limit, 9), make([]int64, 9) },
	"a cost too few":      func(c *limit.Charge) { c.Costs = nil },
	"a negative cost":     func(c *limit.Charge) { c.Costs[0] = -1 },
	"no capacity":         func(c *limit.Charge) { c.Limits[0].Capacity = 0 },
	"too much capacity":   func(c *limit.Charge) { c.Limits[0].Capacity = limit.MaxCapacity + 1 },
	"no window":           func(c *limit.Charge) { c.Limits[0].Window = 0 },
	"601 slots":           func(c *limit.Charge) { c.Limits[0].Window = 601 * sec },
	"a bucket of nothing": func(c *limit.Charge) { c.Limits[0] = Token(1, sec, 0) },
}

// refusing sends malformed charges and corrections: each is an error and
// changes nothing.
func refusing(t *testing.T, h Harness) {
	store := h.Client(t)
	p := newPair(t, store, Sliding(3, 10*sec, sec))
	a := p.charge(0, 1)
	for name, spoil := range badCharges {
		bad := p.request(1)
		spoil(bad)
		for call, err := range map[string]error{
			"Charge":    store.Charge(context.Background(), epoch, bad, &limit.Verdict{}),
			"ChargeAll": store.ChargeAll(context.Background(), epoch, []*limit.Charge{bad}, []*limit.Verdict{{}}),
			"Peek":      store.Peek(context.Background(), epoch, bad, &limit.Verdict{}),
			"Settle":    store.Settle(context.Background(), epoch, bad, &a.got.Receipt, []int64{1}),
		} {
			if err == nil {
				t.Errorf("%s accepts a charge with %s: %+v", call, name, *bad)
			}
		}
		if store.Denies(epoch, bad, &limit.Verdict{}) {
			t.Errorf("Denies decides a charge with %s: %+v", name, *bad)
		}
	}
	for _, deltas := range [][]int64{nil, {1, 1}, {-2}, {limit.MaxCapacity + 1}} { // the third: refund two units of one
		if err := store.Settle(context.Background(), epoch, a.charge, &a.got.Receipt, deltas); err == nil {
			t.Errorf("corrections of %d for one limit are no error", deltas)
		}
	}
	for _, l := range []limit.Limit{Exact(3, sec), Token(3, sec, 3), Leaky(3, sec, 3)} {
		c := &limit.Charge{Key: freshKey(), Limits: []limit.Limit{l}, Costs: []int64{1}}
		if err := store.Settle(context.Background(), epoch, c, &limit.Receipt{}, []int64{1}); err == nil {
			t.Errorf("a correction of a %s is no error", l.Algorithm)
		}
	}
	p.note("sent malformed charges")
	p.charge(0, 1)
}
