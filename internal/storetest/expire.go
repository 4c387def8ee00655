package storetest

import (
	"context"
	"testing"
	"time"
)

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
