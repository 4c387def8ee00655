package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// peeking checks that a peek changes nothing, and that a store without local
// denials has none. Sequences check them in every state.
func peeking(t *testing.T, h Harness) {
	store := h.Client(t)
	p := newPair(t, store, mixed()...)
	if p.denies(0, 1, 1, 1, 1, 1, 1, 1) {
		p.fail("a key never charged was denied")
	}
	p.peek(0, 4, 4, 4, 4, 4, 4, 4)
	p.charge(0, 4, 4, 4, 4, 4, 4, 4)
	p.charge(0, 1, 1, 1, 1, 1, 1, 1)
	if known := p.denies(0, 1, 1, 1, 1, 1, 1, 1); known == h.NoLocalDenials {
		p.fail("after a denial, Denies returned %v", known)
	}
}

// by goes on with another client of the same counters.
func (p *pair) by(client limit.Store) *pair {
	if p.store != client {
		p.note("another client goes on")
		p.store = client
	}
	return p
}

// resetting has another client than the one that denies reset a counter.
// Sequences reset counters in every other state.
func resetting(t *testing.T, h Harness) {
	store, other := h.Client(t), h.Client(t)
	p := newPair(t, store, Sliding(2, time.Minute, sec))
	p.charge(0, 2)
	p.charge(0, 1)
	p.by(other).reset()
	p.by(store).charge(h.Lag+1, 2) // after Lag the client must have read it
	p.by(other).charge(h.Lag+1, 1)
}

// settling has another client than the one that made it correct a charge, in
// both directions. Sequences correct charges in every other state.
func settling(t *testing.T, h Harness) {
	store, other := h.Client(t), h.Client(t)
	p := newPair(t, store, Sliding(4, time.Minute, sec))
	a := p.charge(0, 4)
	p.charge(0, 1)
	p.by(other).settle(0, a, -2)
	p.by(store).charge(h.Lag+1, 2) // after Lag the client must have read it
	p.by(other).settle(h.Lag+1, a, 5)
	p.by(store).charge(61*sec, 1)
	t.Run("turns of a leaky bucket", func(t *testing.T) {
		p := newPair(t, store, Leaky(1, sec, 2))
		first, last := p.charge(0, 1), p.charge(0, 1)
		p.settle(0, last, -1)
		last = p.charge(0, 1)  // in the turn that was given back
		p.settle(0, first, -1) // stays: another is behind it
		p.settle(sec+ms, last, -1)
		p.charge(sec+ms, 1) // behind it: its turn had come
	})
}

// expiring charges expired counters, both before and after the store deletes
// them.
func expiring(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("still there", func(t *testing.T) {
		for _, l := range mixed() {
			p := newPair(t, store, l)
			at := p.charge(0, l.MaxCost()).got.Reset + 90*time.Minute
			p.peek(at, l.MaxCost())
			p.charge(at, l.MaxCost())
			p.charge(at, 1)
		}
	})
	if h.Expire == nil {
		return
	}
	for _, l := range mixed() {
		t.Run(label(&l)+" deleted", func(t *testing.T) {
			p := newPair(t, store, l)
			a := p.charge(0, l.MaxCost())
			p.charge(0, 1)
			over := a.got.Reset
			p.expire(h)
			p.charge(over, l.MaxCost()) // by a client with a snapshot of the counter
			p.charge(over, 1)
			p.expire(h)
			p.by(h.Client(t)).charge(3*over, 1) // by one without
			p.by(store).charge(3*over, 1)
			if l.Correctable() {
				p.settle(3*over, a, -1) // of an earlier generation
				p.settle(3*over, a, 1)
			}
			p.charge(3*over, l.MaxCost()-2)
			p.charge(3*over, 1)
		})
	}
}

// expire deletes the pair's counter in both stores.
func (p *pair) expire(h Harness) {
	p.Helper()
	p.note("the counter expired and is gone")
	h.Expire(p.TB.(testing.TB), p.key)
	_ = p.reference.Reset(context.Background(), p.key)
}

// naming charges keys of every form: each is a counter of its own.
func naming(t *testing.T, h Harness) {
	store, mark := h.Client(t), freshKey()
	long := strings.Repeat("x", 600)
	for _, suffix := range []string{
		"", " ", "a", "A", "{a}", "{a", "}", "{}", "{}{a}", "ü", "u\u0308", "日本", "a|b", "a:b", "a\nb", "*", "?", "%00", "\\", "\"", "'",
		long[:600-1], long, long + "y", long[:480] + "~" + strings.Repeat("0", 24),
	} {
		p := newPair(t, store, Fixed(2, time.Minute))
		p.key = mark + suffix
		p.note("the key is %q", p.key)
		p.charge(0, 1) // a counter shared by two keys has less left than the reference's
		p.charge(0, 1)
		p.charge(0, 1)
	}
}

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
	"a place, no hold":    func(c *limit.Charge) { c.Limits[0] = InFlight(3, sec) },
	"two places":          func(c *limit.Charge) { c.Limits[0], c.Costs[0], c.Hold.ID = InFlight(3, sec), 2, 1 },
	"a hold for days":     func(c *limit.Charge) { c.Hold = limit.Opening{ID: 1, For: limit.MaxHold + 1} },
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
