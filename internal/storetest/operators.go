package storetest

import (
	"strings"
	"testing"
	"time"
)

// peeking checks that to ask changes nothing, and that what is known is true.
func peeking(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, l := range mixed() {
		t.Run(label(&l), func(t *testing.T) {
			tr := newTrial(t, store, l)
			for _, at := range []time.Duration{0, sec, sec, 5 * sec, 10 * sec, 11 * sec, 9 * sec, time.Minute} {
				for _, cost := range []int64{0, 1, l.Most(), l.Most() + 1} {
					tr.denies(at, cost)
					tr.peek(at, cost)
				}
				tr.charge(at, 2)
			}
		})
	}
	t.Run("a denial is remembered", func(t *testing.T) {
		tr := newTrial(t, store, mixed()...)
		if tr.denies(0, 1, 1, 1, 1, 1, 1, 1) {
			tr.fail("a key never charged was denied")
		}
		tr.charge(0, 4, 4, 4, 4, 4, 4, 4)
		tr.charge(0, 1, 1, 1, 1, 1, 1, 1)
		if known := tr.denies(0, 1, 1, 1, 1, 1, 1, 1); known == h.Blind {
			tr.fail("the store has just denied it; asked without a call it says denied: %v", known)
		}
	})
	t.Run("the charge after a peek by another client", func(t *testing.T) {
		tr, other := newTrial(t, store, Sliding(2, 10*sec, sec)), h.Client(t)
		tr.peek(0, 1)
		tr.by(other).charge(0, 1)
		tr.by(store).charge(0, 1)
		tr.by(other).peek(0, 1)
		tr.by(store).charge(0, 1)
	})
}

// by goes on with another client of the same counters.
func (tr *trial) by(client Store) *trial {
	if tr.store != client {
		tr.note("another client goes on")
		tr.store = client
	}
	return tr
}

// resetting starts counters afresh.
func resetting(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, l := range mixed() {
		t.Run(label(&l), func(t *testing.T) {
			tr := newTrial(t, store, l)
			tr.reset() // of nothing
			tr.charge(10*sec, l.Most())
			tr.charge(10*sec, 1)
			tr.reset()
			if tr.denies(10*sec, 1) {
				tr.fail("the client that reset the key still denies it")
			}
			tr.charge(3*sec, l.Most()) // nor is there a newest charge any more
			tr.charge(3*sec, 1)
		})
	}
	t.Run("by another client", func(t *testing.T) {
		tr, other := newTrial(t, store, Sliding(2, time.Minute, sec)), h.Client(t)
		tr.charge(0, 2)
		tr.charge(0, 1)
		tr.by(other).reset()
		tr.by(store).charge(h.Lag+1, 2) // by now it must have noticed
		tr.by(other).charge(h.Lag+1, 1)
	})
	t.Run("other keys stay", func(t *testing.T) {
		a, b := newTrial(t, store, Fixed(1, time.Minute)), newTrial(t, store, Fixed(1, time.Minute))
		a.charge(0, 1)
		b.charge(0, 1)
		a.reset()
		b.charge(0, 1)
		a.charge(0, 1)
	})
}

// naming charges keys of every form: each is a counter of its own.
func naming(t *testing.T, h Harness) {
	store, mark := h.Client(t), freshKey()
	long := strings.Repeat("x", 600)
	for _, suffix := range []string{
		"", " ", "a", "A", "{a}", "{a", "}", "{}", "{}{a}", "ü", "u\u0308", "日本", "a|b", "a:b", "a\nb", "*", "?", "%00", "\\", "\"", "'",
		long[:600-1], long, long + "y", long[:480] + "~" + strings.Repeat("0", 24),
	} {
		tr := newTrial(t, store, Fixed(2, time.Minute))
		tr.key = mark + suffix
		tr.note("the key is %q", tr.key)
		tr.charge(0, 1) // a counter that two keys share is fuller than the step's
		tr.charge(0, 1)
		tr.charge(0, 1)
	}
}
