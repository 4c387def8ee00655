package memory

import "math/bits"

// queue orders counters by when they end. It is a radix heap (Ahuja, Mehlhorn,
// Orlin, Tarjan: Faster algorithms for the shortest path problem, 1990): list i
// holds the counters whose end first differs from the time of the queue in bit
// i-1. Time only goes forwards, so a counter moves to a lower list each time, at
// most 64 times; most move once or twice.
//
// A counter that is charged again stays where it is. Its new end counts once its
// list comes up.
type queue struct {
	now   uint64 // all counters that ended by then are gone
	lists [65]*counter
}

// list returns the list for an end after now.
func (q *queue) list(end int64) int { return bits.Len64(q.now ^ ordered(end)) }

// ordered maps times to numbers in the same order, without negative ones.
func ordered(t int64) uint64 { return uint64(t) ^ 1<<63 }

// push adds a counter.
func (q *queue) push(ct *counter) {
	ct.link = &q.lists[q.list(ct.end)]
	ct.next = *ct.link
	if ct.next != nil {
		ct.next.link = &ct.next
	}
	*ct.link = ct
}

// remove takes a counter out.
func (q *queue) remove(ct *counter) {
	*ct.link = ct.next
	if ct.next != nil {
		ct.next.link = ct.link
	}
}

// advance moves the time on, and calls drop for each counter that ended by then.
func (q *queue) advance(to int64, drop func(*counter)) {
	now := ordered(to)
	if now <= q.now {
		return
	}
	lists := bits.Len64(q.now ^ now)
	q.now = now
	for i := range q.lists[:lists+1] {
		ct := q.lists[i]
		q.lists[i] = nil
		for ct != nil {
			next := ct.next
			if ct.end <= to {
				drop(ct)
			} else {
				q.push(ct)
			}
			ct = next
		}
	}
}
