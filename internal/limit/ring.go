package limit

import (
	"math/bits"
	"slices"
)

// ring holds the older slots of a state, in ascending order. A decision mostly
// needs no more than the sum and the first number, which are in the state; the
// slots are elsewhere in memory, and a cache misses them.
type ring struct {
	first int64 // the number of the first slot, if any is left
	sum   int64 // the units of all
	*room       // nil until there is a slot
}

// room is where the slots of a ring are. It is reused: a window that moves on
// allocates nothing.
type room struct {
	slots []Slot // their number is a power of two
	head  int    // index of the first
	n     int    // how many are in use
}

// newRing returns an empty ring with room for n slots, at least 1.
func newRing(n int) ring { return ring{room: &room{slots: make([]Slot, 1<<bits.Len(uint(n-1)))}} }

// len returns the number of slots.
func (r *ring) len() int {
	if r.room == nil {
		return 0
	}
	return r.n
}

// at returns slot i, from 0.
func (r *ring) at(i int) *Slot { return &r.slots[(r.head+i)&(len(r.slots)-1)] }

// before returns how many slots no longer count in slot q, and their units.
func (r *ring) before(l *Limit, q int64) (n int, units int64) {
	if r.room == nil || !l.gone(r.first, q) { // mostly
		return 0, 0
	}
	for n < r.n {
		s := r.at(n)
		if !l.gone(s.Number, q) {
			break
		}
		units += s.Units
		n++
	}
	return n, units
}

// drop removes the first n slots, which hold these units.
func (r *ring) drop(n int, units int64) {
	if n == 0 {
		return
	}
	r.head, r.n, r.sum = r.head+n, r.n-n, r.sum-units
	r.first = r.at(0).Number // of no meaning if none is left
}

// push adds a slot at the end.
func (r *ring) push(s Slot) {
	if r.n == len(r.slots) {
		r.grow()
	}
	if r.n == 0 {
		r.first = s.Number
	}
	r.n++
	*r.at(r.n - 1) = s
	r.sum += s.Units
}

func (r *ring) grow() {
	slots := make([]Slot, 2*len(r.slots))
	for i := range r.n {
		slots[i] = *r.at(i)
	}
	r.slots, r.head = slots, 0
}

// refund removes up to units from a slot, and returns how many.
func (r *ring) refund(number, units int64) int64 {
	for i := range r.len() {
		if s := r.at(i); s.Number == number {
			units = min(units, s.Units)
			s.Units -= units
			r.sum -= units
			return units
		}
	}
	return 0
}

// units returns the units of a slot.
func (r *ring) units(number int64) int64 {
	for i := range r.len() {
		if s := r.at(r.n - 1 - i); s.Number == number {
			return s.Units
		}
	}
	return 0
}

// last returns the last slot that has units; ok is false if none has.
func (r *ring) last() (number int64, ok bool) {
	for i := range r.len() {
		if s := r.at(r.n - 1 - i); s.Units > 0 {
			return s.Number, true
		}
	}
	return 0, false
}

// clone returns a copy that shares nothing with this ring.
func (r *ring) clone() ring {
	c := *r
	if r.room != nil {
		c.room = &room{slices.Clone(r.slots), r.head, r.n}
	}
	return c
}
