package protocol

import (
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
)

// maxTotal is the total above which a charge begins a new generation. 4,600 full
// windows of the largest capacity reach it. Below 2⁶³ it leaves room for as many
// units again, from writes by older snapshots and by none.
const maxTotal = 1 << 62

// A charge by a snapshot whose total is above maxTotal lowers the total to the
// units that the item has in slots. What it leaves out was charged before every
// window or refunded, and within a generation that only grows. So the window's
// units stay, and the credit, which is relative to the total.
//
// Older snapshots would take the lower total for room. So the same write gives the
// item the next generation, which their conditions refuse. Its mark begins with
// the first one's: the slots are the same, so receipts stay valid.

// surplus returns by how much a charge has to lower the total of limit i.
func (s *Snapshot) surplus(i int) int64 {
	if s.totals[i] <= maxTotal {
		return 0
	}
	surplus := s.totals[i]
	for slot := range s.states[i].All() {
		surplus -= slot.Units
	}
	return surplus
}

// generationMark stands before the number of a generation that follows another.
// The random marks of stores do not contain it.
const generationMark = "+"

// successor returns the generation after one: "mark+2" after "mark+1".
func successor(generation string) string {
	mark, number, _ := strings.Cut(generation, generationMark)
	n, _ := strconv.Atoi(number) // 0 for the first
	return mark + generationMark + strconv.Itoa(n+1)
}

// Current returns the receipt as the counter s has it, which may be of a later
// generation with the same slots. It returns nil if s is another counter, or none.
func (s *Snapshot) Current(r *limit.Receipt) *limit.Receipt {
	if r.Generation == "" {
		return r
	}
	mark, _, _ := strings.Cut(r.Generation, generationMark)
	if s == nil || s.Generation != mark && !strings.HasPrefix(s.Generation, mark+generationMark) {
		return nil
	}
	renewed := *r
	renewed.Generation = s.Generation
	return &renewed
}
