package sim

import "container/heap"

// event happens at a moment: Unix nanoseconds of true time.
type event struct {
	at    int64
	order uint64 // of two events at one moment, the one that was planned first comes first
	do    func()
}

// queue holds future events.
type queue struct {
	events eventHeap
	order  uint64
}

func (q *queue) push(at int64, do func()) {
	q.order++
	heap.Push(&q.events, event{at, q.order, do})
}

func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	return heap.Pop(&q.events).(event), true
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *eventHeap) Push(e any) { *h = append(*h, e.(event)) }

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last], *h = event{}, (*h)[:last]
	return e
}
