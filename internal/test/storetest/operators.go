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

// resetting resets counters.
func resetting(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("by a client with a snapshot", func(t *testing.T) {
		p := newPair(t, store, mixed()[0])
		p.reset() // of nothing
		p.charge(10*sec, 6)
		p.charge(10*sec, 1)
		p.reset()
		p.charge(3*sec, 6) // the new counter has no newest charge yet
		p.charge(3*sec, 1)
	})
	t.Run("by another client", func(t *testing.T) {
		p, other := newPair(t, store, Sliding(2, time.Minute, sec)), h.Client(t)
		p.charge(0, 2)
		p.charge(0, 1)
		p.by(other).reset()
		p.by(store).charge(h.Lag+1, 2) // after Lag the client must have read it
		p.by(other).charge(h.Lag+1, 1)
	})
	t.Run("other keys stay", func(t *testing.T) {
		a, b := newPair(t, store, Fixed(1, time.Minute)), newPair(t, store, Fixed(1, time.Minute))
		a.charge(0, 1)
		b.charge(0, 1)
		a.reset()
		b.charge(0, 1)
		a.charge(0, 1)
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
