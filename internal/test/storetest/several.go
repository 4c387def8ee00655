package storetest

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// mixed is a rule with a limit of every algorithm.
func mixed() []limit.Limit {
	return named(
		Sliding(6, 10*sec, sec),
		Fixed(4, 10*sec),
		Weighted(5, 10*sec),
		Exact(4, 10*sec),
		Token(10, 10*sec, 4),
		Leaky(10, 10*sec, 4),
		zoned(9, limit.Day, "Europe/Berlin", 0),
	)
}

// several charges rules of more than one limit, from all limits or from none.
func several(t *testing.T, h Harness) {
	store := h.Client(t)
	t.Run("all or none", func(t *testing.T) { allOrNone(t, store) })
	t.Run("eight limits", func(t *testing.T) {
		p := newPair(t, store, append(mixed(), Sliding(9, sec, 100*ms))...)
		p.charge(0, 1, 2, 1, 2, 1, 2, 1, 2)
		p.charge(sec, 2, 1, 2, 1, 2, 1, 2, 1)
		p.charge(2*sec, 2, 2, 2, 2, 2, 2, 2, 2)
		p.charge(12*sec, 1, 1, 1, 1, 1, 1, 1, 1)
	})
	t.Run("a bucket that is full before 1970", func(t *testing.T) {
		p := newPair(t, store, named(Token(3, 3*sec, 3), Sliding(3, sec, sec))...)
		p.start = time.Unix(0, 0)
		p.charge(1, 0, 1)
		p.charge(-2*sec, 1, 1) // full again at -1 s
		p.denies(2, 0, 3)
		p.charge(2, 3, 2)
		p.charge(2, 3, 1)
	})
	t.Run("the newest slot of each limit is its own", func(t *testing.T) {
		p := newPair(t, store, named(Sliding(3, 10*sec, sec), Fixed(3, 10*sec))...)
		p.charge(15*sec, 1, 0)
		p.charge(5*sec, 0, 1) // the later clock has not charged the fixed window
		p.charge(5*sec, 1, 2)
		p.charge(10*sec, 1, 3)
	})
}

func allOrNone(t *testing.T, store limit.Store) {
	p := newPair(t, store, named(Sliding(5, time.Minute, sec), Fixed(3, time.Minute))...)
	for _, m := range []struct {
		costs     [2]int64
		allowed   bool
		remaining [2]int64
		retry     time.Duration
	}{
		{[2]int64{1, 2}, true, [2]int64{4, 1}, 0},
		{[2]int64{1, 2}, false, [2]int64{4, 1}, time.Minute},
		{[2]int64{5, 0}, false, [2]int64{4, 1}, 61 * sec},
		{[2]int64{5, 2}, false, [2]int64{4, 1}, 61 * sec},
		{[2]int64{6, 1}, false, [2]int64{4, 1}, limit.Never},
		{[2]int64{4, 1}, true, [2]int64{0, 0}, 0},
	} {
		got := p.charge(0, m.costs[:]...).got
		left := [2]int64{got.Limits[0].Remaining, got.Limits[1].Remaining}
		if got.Allowed != m.allowed || got.RetryAfter != m.retry || left != m.remaining {
			p.fail("want allowed %v, %v left of the limits, retry after %v", m.allowed, m.remaining, m.retry)
		}
	}
}

// overrides changes the capacity of a live counter, as an override or a plan
// does.
func overrides(t *testing.T, h Harness) {
	store := h.Client(t)
	for _, l := range mixed() {
		t.Run(label(&l), func(t *testing.T) {
			p := newPair(t, store, l)
			most := int64(10)
			p.resize(most)
			p.charge(0, most)
			p.resize(2)
			lowered := p.charge(sec, 1)
			if lowered.got.Allowed || lowered.got.Remaining != 0 {
				p.fail("the capacity is 2 with %d used: want a denial with nothing left", most)
			}
			at := sec + lowered.got.RetryAfter
			if p.charge(at-1, 1).got.Allowed || !p.charge(at, 1).got.Allowed {
				p.fail("want a denial until %v, and then an admission", at)
			}
			p.resize(20)
			p.charge(at, 5)
			p.charge(at+sec, 20)
			p.charge(at+sec, 1)
			p.resize(most)
			p.charge(at+2*sec, 1)
			p.charge(at+2*time.Minute, 1)
		})
	}
}

// resize changes the capacities, and the burst of buckets, for later charges.
func (p *pair) resize(capacity int64) {
	for i := range p.limits {
		p.limits[i].Capacity = capacity
		if p.limits[i].Bucket() {
			p.limits[i].Burst = capacity
		}
	}
	p.note("the capacity is now %d", capacity)
}
