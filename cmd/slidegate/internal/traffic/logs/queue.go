package logs

import (
	"container/heap"
	"slices"
)

// chunk is requests of a log that were read one after another, and wait for those
// that are earlier.
type chunk struct {
	log      *logReader
	number   int       // of the chunk in its log
	requests []*record // by time
}

// queue is a heap of chunks by their earliest requests. Those of the same time are
// in the order of the logs and their lines.
type queue []*chunk

// Len implements heap.Interface, as do the next methods.
func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if order := a.requests[0].time.Compare(b.requests[0].time); order != 0 {
		return order < 0
	}
	return a.log.index < b.log.index || a.log == b.log && a.number < b.number
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(c any) { *q = append(*q, c.(*chunk)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return c
}

// add adds a chunk, and sorts its requests.
func (q *queue) add(c *chunk) {
	if len(c.requests) == 0 {
		return
	}
	slices.SortStableFunc(c.requests, func(a, b *record) int { return a.time.Compare(b.time) })
	heap.Push(q, c)
}

// next removes the earliest request, and returns it with its log.
func (q *queue) next() (*record, *logReader) {
	c := (*q)[0]
	r := c.requests[0]
	c.log.waiting -= r.bytes
	c.requests[0] = nil // a chunk may stay for a request that is far ahead
	if c.requests = c.requests[1:]; len(c.requests) > 0 {
		heap.Fix(q, 0)
	} else {
		heap.Pop(q)
	}
	return r, c.log
}
