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

// several charges rules of more limits than sequences have, and at times that
// they have not.
func several(t *testing.T, h Harness) {
	store := h.Client(t)
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
