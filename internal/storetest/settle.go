package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// settling corrects charges once their true cost is known.
func settling(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, l := range []limit.Limit{
		Sliding(10, 10*sec, sec), Fixed(10, 10*sec), Weighted(10, 10*sec), zoned(10, limit.Day, "Europe/Berlin", 0),
	} {
		t.Run(label(&l), func(t *testing.T) { settleEachWay(t, store, l) })
	}
	t.Run("once the slot has left the window", func(t *testing.T) {
		for _, l := range []limit.Limit{Sliding(10, 10*sec, sec), Fixed(10, 10*sec), Weighted(10, 10*sec)} {
			settleTooLate(newTrial(t, store, l))
		}
	})
	t.Run("until the slot leaves the window", func(t *testing.T) {
		tr := newTrial(t, store, Sliding(10, 10*sec, sec))
		early := tr.charge(0, 4)
		tr.charge(10*sec, 6)
		tr.settle(11*sec-1, early, -3)
		tr.charge(11*sec-1, 4)
		tr.charge(11*sec-1, 3)
	})
	for _, delta := range []int64{-4, 4} {
		t.Run(fmt.Sprintf("a charge of another life by %+d", delta), func(t *testing.T) {
			settleAnotherLife(newTrial(t, store, Sliding(10, 10*sec, sec)), delta)
		})
	}
	t.Run("a charge that took nothing", func(t *testing.T) { settleFree(newTrial(t, store, Sliding(10, 10*sec, sec)), 4) })
	t.Run("a charge that took nothing, by a clock that is behind", func(t *testing.T) {
		tr := newTrial(t, store, Sliding(4, 10*sec, sec))
		free := tr.charge(8*sec, 0)
		tr.settle(2*sec, free, 3) // nobody has charged yet: this is the newest time of the key
		tr.charge(12*sec, 2)
		tr.charge(13*sec, 2)
	})
	t.Run("one limit of several", func(t *testing.T) { settleOneOfSeveral(t, store) })
	t.Run("by a clock that is behind", func(t *testing.T) {
		tr := newTrial(t, store, Sliding(10, 10*sec, sec))
		a := tr.charge(8*sec, 4)
		tr.settle(2*sec, a, 3) // in the newest slot
		tr.settle(2*sec, a, -2)
		tr.charge(18*sec, 6)
		tr.charge(19*sec, 5)
	})
	t.Run("by another client", func(t *testing.T) { settleByAnother(t, h, store) })
}

func settleTooLate(tr *trial) {
	early := tr.charge(0, 4)
	tr.charge(20*sec, 10)
	tr.settle(20*sec, early, -4) // worth nothing
	tr.charge(20*sec, 1)
	tr.settle(21*sec, early, 3) // is owed all the same
	tr.charge(31*sec, 1)
	tr.charge(31*sec, 9)
}

func settleAnotherLife(tr *trial, delta int64) {
	before := tr.charge(0, 4)
	tr.reset()
	tr.settle(0, before, delta) // there is no counter
	tr.charge(0, 5)
	tr.settle(0, before, delta)
	tr.charge(0, 5)
	tr.charge(0, 1)
}

// settleFree corrects charges that took nothing, so that their receipts name no life: upwards any life pays.
func settleFree(tr *trial, delta int64) {
	free := tr.charge(0, 0)
	tr.settle(sec, free, delta) // upwards this makes the counter
	tr.charge(sec, 5)
	tr.settle(2*sec, free, delta)
	tr.charge(3*sec, 5)
	tr.charge(3*sec, 1)
	tr.reset()
	tr.settle(4*sec, free, delta)
	tr.charge(4*sec, 6)
	tr.charge(4*sec, 4)
}

func settleOneOfSeveral(t *testing.T, store Store) {
	tr := newTrial(t, store, named(Sliding(5, 10*sec, sec), Weighted(90, 10*sec), Token(10, 10*sec, 5))...)
	a := tr.charge(0, 1, 20, 1)
	tr.settle(3*sec, a, 0, -15, 0)
	b := tr.charge(3*sec, 1, 40, 1)
	tr.settle(4*sec, b, 0, 60, 0)
	tr.charge(4*sec, 1, 1, 1)
	tr.charge(14*sec, 1, 1, 1)
}

func settleByAnother(t *testing.T, h Harness, store Store) {
	tr, other := newTrial(t, store, Sliding(4, time.Minute, sec)), h.Client(t)
	a := tr.charge(0, 4)
	tr.charge(0, 1)
	tr.by(other).settle(0, a, -2)
	tr.by(store).charge(h.Lag+1, 2) // by now it must have noticed
	tr.by(other).settle(h.Lag+1, a, 5)
	tr.by(store).charge(61*sec, 1)
}

func settleEachWay(t *testing.T, store Store, l limit.Limit) {
	tr := newTrial(t, store, l)
	a := tr.charge(0, 6)
	tr.settle(sec, a, -4)
	if left := tr.peek(sec, 1).got.Remaining; left != 8 {
		tr.fail("6 of 10 were charged and 4 given back: 8 are left, not %d", left)
	}
	b := tr.charge(sec, 8)
	tr.settle(2*sec, b, 0)
	tr.settle(2*sec, b, 25)
	if left := tr.peek(2*sec, 1).got.Remaining; left != 0 {
		tr.fail("25 more than the capacity allows were charged: nothing is left, not %d", left)
	}
	tr.charge(2*sec, 1)
	tr.charge(2*sec, 0)
	tr.settle(3*sec, b, -8)
	retry := tr.charge(3*sec, 1).got.RetryAfter
	tr.charge(3*sec+retry-1, 1)
	tr.charge(3*sec+retry, 1)
	tr.settle(3*sec+retry, a, -2) // the rest of it
	tr.charge(3*sec+retry, 1)
}
