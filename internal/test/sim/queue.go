package sim

import "container/heap"

// event happens at a moment: Unix nanoseconds of true time.
type event struct {
	at    int64
	order uint64 // of two events at one moment, the one that was planned first comes first
	do    func()
}

// queue holds future events, as a heap.
type queue struct {
	events []event
	order  uint64
}

func (q *queue) push(at int64, do func()) {
	q.order++
	heap.Push(q, event{at, q.order, do})
}

func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	return heap.Pop(q).(event), true
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *queue) Len() int { return len(q.events) }

func (q *queue) Less(i, j int) bool {
	a, b := &q.events[i], &q.events[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (q *queue) Swap(i, j int) { q.events[i], q.events[j] = q.events[j], q.events[i] }

func (q *queue) Push(e any) { q.events = append(q.events, e.(event)) }

func (q *queue) Pop() any {
	last := len(q.events) - 1
	e := q.events[last]
	q.events[last], q.events = event{}, q.events[:last]
	return e
}
