package sim

// event is something that happens at a moment: Unix nanoseconds of true time.
type event struct {
	at    int64
	order uint64 // of two events at one moment, the one that was planned first comes first
	do    func()
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// queue is a binary heap of future events.
type queue struct {
	events []event
	order  uint64
}

func (q *queue) push(at int64, do func()) {
	q.order++
	q.events = append(q.events, event{at, q.order, do})
	for i := len(q.events) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.events[i].before(&q.events[parent]) {
			return
		}
		q.events[i], q.events[parent] = q.events[parent], q.events[i]
		i = parent
	}
}

func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	first, last := q.events[0], len(q.events)-1
	q.events[0] = q.events[last]
	q.events[last] = event{}
	q.events = q.events[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q.events[child].before(&q.events[least]) {
				least = child
			}
		}
		if least == i {
			return first, true
		}
		q.events[i], q.events[least] = q.events[least], q.events[i]
		i = least
	}
}
