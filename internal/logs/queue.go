package logs

import (
	"cmp"
	"container/heap"
	"slices"
)

// queue is a heap of chunks by their first lines.
type queue []*chunk

// Len implements heap.Interface, as do the next methods.
func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.lines[0].at != b.lines[0].at {
		return a.lines[0].at < b.lines[0].at
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

// add adds a chunk, and sorts its lines.
func (q *queue) add(c *chunk) {
	if len(c.lines) == 0 {
		return
	}
	slices.SortFunc(c.lines, func(a, b waitingLine) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(a.start, b.start)
	})
	c.log.waiting += c.bytes
	c.log.held += c.bytes
	heap.Push(q, c)
}

// next removes the earliest line, and returns it with its chunk.
func (q *queue) next() (*chunk, *waitingLine) {
	c := (*q)[0]
	l := &c.lines[0]
	c.lines = c.lines[1:]
	c.log.waiting -= int(l.bytes)
	if len(c.lines) > 0 {
		heap.Fix(q, 0)
		return c, l
	}
	c.log.held -= c.bytes
	heap.Pop(q)
	return c, l
}

// compact moves the lines of a log into one chunk. A line whose time is far
// ahead would otherwise keep its whole chunk in memory.
func (q *queue) compact(l *logReader) {
	var own, others queue
	for _, c := range *q {
		if c.log == l {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	heap.Init(&own)
	heap.Init(&others)
	*q = others
	all, fields := &chunk{log: l}, []byte(nil)
	for len(own) > 0 {
		c, line := own.next()
		moved := *line
		moved.start, moved.rare = int32(len(fields)), all.addRare(c.rareOf(line))
		fields = append(fields, c.fields[line.start:line.end]...)
		moved.end = int32(len(fields))
		all.lines = append(all.lines, moved)
		all.bytes += int(moved.bytes)
	}
	all.fields = string(fields)
	q.add(all)
}
