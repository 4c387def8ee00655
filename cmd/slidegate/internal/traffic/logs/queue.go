package logs

import (
	"cmp"
	"slices"
)

// chunk is requests of a log that were read one after another, and wait for those
// that are earlier.
type chunk struct {
	log      *logReader
	number   int       // of the chunk in its log
	requests []*record // by time
}

// queue has chunks by their earliest requests. Those of the same time are in the
// order of the logs and their lines.
type queue []*chunk

func (c *chunk) compare(other *chunk) int {
	return cmp.Or(c.requests[0].time.Compare(other.requests[0].time), cmp.Compare(c.log.index, other.log.index), cmp.Compare(c.number, other.number))
}

// add adds a chunk, and sorts its requests.
func (q *queue) add(c *chunk) {
	if len(c.requests) == 0 {
		return
	}
	slices.SortStableFunc(c.requests, func(a, b *record) int { return a.time.Compare(b.time) })
	i, _ := slices.BinarySearchFunc(*q, c, (*chunk).compare)
	*q = slices.Insert(*q, i, c)
}

// next removes the earliest request, and returns it with its log.
func (q *queue) next() (*record, *logReader) {
	c, others := (*q)[0], (*q)[1:]
	r := c.requests[0]
	c.log.waiting -= r.bytes
	c.requests[0] = nil // a chunk may stay for a request that is far ahead
	if c.requests = c.requests[1:]; len(c.requests) == 0 {
		*q = slices.Delete(*q, 0, 1)
		return r, c.log
	}
	i, _ := slices.BinarySearchFunc(others, c, (*chunk).compare)
	copy(*q, others[:i]) // the few that are earlier now move up
	(*q)[i] = c
	return r, c.log
}
