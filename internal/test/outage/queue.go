package outage

import (
	"cmp"
	"slices"
)

// event happens at a moment: Unix nanoseconds of true time.
type event struct {
	at int64
	do func()
}

// queue holds future events, the earliest first. Of two events at one moment,
// the one that was planned first comes first.
type queue []event

func (q *queue) push(at int64, do func()) {
	i, _ := slices.BinarySearchFunc(*q, at+1, func(e event, at int64) int { return cmp.Compare(e.at, at) })
	*q = slices.Insert(*q, i, event{at, do})
}

func (q *queue) pop() (first event, ok bool) {
	if len(*q) == 0 {
		return event{}, false
	}
	first = (*q)[0]
	*q = slices.Delete(*q, 0, 1)
	return first, true
}
