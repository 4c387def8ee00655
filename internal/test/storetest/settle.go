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
			settleTooLate(newPair(t, store, l))
		}
	})
	t.Run("until the slot leaves the window", func(t *testing.T) {
		p := newPair(t, store, Sliding(10, 10*sec, sec))
		early := p.charge(0, 4)
		p.charge(10*sec, 6)
		p.settle(11*sec-1, early, -3)
		p.charge(11*sec-1, 4)
		p.charge(11*sec-1, 3)
	})
	for _, delta := range []int64{-4, 4} {
		t.Run(fmt.Sprintf("a charge of another generation by %+d", delta), func(t *testing.T) {
			settleAnotherGeneration(newPair(t, store, Sliding(10, 10*sec, sec)), delta)
		})
	}
	t.Run("a charge of zero cost, by a clock that is behind", func(t *testing.T) {
		p := newPair(t, store, Sliding(4, 10*sec, sec))
		free := p.charge(8*sec, 0)
		p.settle(2*sec, free, 3) // the first charge: this is the newest time of the key
		p.charge(12*sec, 2)
		p.charge(13*sec, 2)
	})
	t.Run("by a clock that is behind", func(t *testing.T) {
		p := newPair(t, store, Sliding(10, 10*sec, sec))
		a := p.charge(8*sec, 4)
		p.settle(2*sec, a, 3) // in the newest slot
		p.settle(2*sec, a, -2)
		p.charge(18*sec, 6)
		p.charge(19*sec, 5)
	})
	t.Run("by another client", func(t *testing.T) { settleByAnother(t, h, store) })
}

func settleTooLate(p *pair) {
	early := p.charge(0, 4)
	p.charge(20*sec, 10)
	p.settle(20*sec, early, -4) // changes nothing
	p.charge(20*sec, 1)
	p.settle(21*sec, early, 3) // is charged nevertheless
	p.charge(31*sec, 1)
	p.charge(31*sec, 9)
}

func settleAnotherGeneration(p *pair, delta int64) {
	before := p.charge(0, 4)
	p.reset()
	p.settle(0, before, delta) // there is no counter
	p.charge(0, 5)
	p.settle(0, before, delta)
	p.charge(0, 5)
	p.charge(0, 1)
}

func settleByAnother(t *testing.T, h Harness, store limit.Store) {
	p, other := newPair(t, store, Sliding(4, time.Minute, sec)), h.Client(t)
	a := p.charge(0, 4)
	p.charge(0, 1)
	p.by(other).settle(0, a, -2)
	p.by(store).charge(h.Lag+1, 2) // after Lag the client must have read it
	p.by(other).settle(h.Lag+1, a, 5)
	p.by(store).charge(61*sec, 1)
}

func settleEachWay(t *testing.T, store limit.Store, l limit.Limit) {
	p := newPair(t, store, l)
	a := p.charge(0, 6)
	p.settle(sec, a, -4)
	if left := p.peek(sec, 1).got.Remaining; left != 8 {
		p.fail("6 of 10 were charged and 4 refunded: 8 are left, not %d", left)
	}
	b := p.charge(sec, 8)
	p.settle(2*sec, b, 0)
	p.settle(2*sec, b, 25)
	if left := p.peek(2*sec, 1).got.Remaining; left != 0 {
		p.fail("25 more than the capacity allows were charged: nothing is left, not %d", left)
	}
	p.charge(2*sec, 1)
	p.charge(2*sec, 0)
	p.settle(3*sec, b, -8)
	retry := p.charge(3*sec, 1).got.RetryAfter
	p.charge(3*sec+retry-1, 1)
	p.charge(3*sec+retry, 1)
	p.settle(3*sec+retry, a, -2) // the rest of it
	p.charge(3*sec+retry, 1)
}
