package storetest

import (
	"context"
	"testing"
	"time"
)

// expiring charges counters that have expired: those that the store has deleted since, and those that are still there.
func expiring(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("still there", func(t *testing.T) {
		for _, l := range mixed() {
			tr := newTrial(t, store, l)
			at := tr.charge(0, l.Most()).got.Reset + 90*time.Minute
			tr.peek(at, l.Most())
			tr.charge(at, l.Most())
			tr.charge(at, 1)
		}
	})
	if h.Expire == nil {
		return
	}
	for _, l := range mixed() {
		t.Run(label(&l)+" deleted", func(t *testing.T) {
			tr := newTrial(t, store, l)
			a := tr.charge(0, l.Most())
			tr.charge(0, 1)
			over := a.got.Reset
			tr.expire(h)
			tr.charge(over, l.Most()) // by a client that remembers the counter
			tr.charge(over, 1)
			tr.expire(h)
			tr.by(h.Client(t)).charge(3*over, 1) // by one that does not
			tr.by(store).charge(3*over, 1)
			if l.Correctable() {
				tr.settle(3*over, a, -1) // of a life that is over
				tr.settle(3*over, a, 1)
			}
			tr.charge(3*over, l.Most()-2)
			tr.charge(3*over, 1)
		})
	}
}

// expire deletes the trial's counter, and lets the step forget it.
func (tr *trial) expire(h Harness) {
	tr.Helper()
	tr.note("the counter expired and is gone")
	h.Expire(tr.TB.(testing.TB), tr.key)
	_ = tr.step.Reset(context.Background(), tr.key)
}
