package dynamo

import (
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// maxWait is how long a caller waits for another write of its process. A write
// that takes longer may have lost its connection, and would hold up every other
// caller of the key until its deadline.
const maxWait = 50 * time.Millisecond

// writeQueue serializes this process's writes to a key, because writes at the
// same time would make each other's conditions fail. One write also makes the
// charges of callers that wait, where it can.
//
// Trade-off: a caller waits for at most maxWait, and the process makes far fewer
// writes than charges for a busy key. A lone caller waits for nothing.
type writeQueue struct {
	mu    sync.Mutex
	lines map[string][]*waiter // the callers that wait, for each key that has a turn
}

// waiter is an attempt in the queue. It has at most one of the two: a turn, which
// lasts until the charge is decided, or a place in line.
type waiter struct {
	*attempt
	turn   bool        // the attempt alone may write to its key
	called chan *batch // receives the batch with its charge, or nil for its turn
}

// charge makes writes until one decides the charge. It returns ErrContended if
// the last answer neither admits nor denies.
func (q *writeQueue) charge(a *attempt) error {
	w := &waiter{attempt: a}
	defer q.pass(w)
	for ; a.refusals < protocol.MaxAttempts; a.refusals++ {
		b, err := q.enter(w)
		if err != nil {
			return Translate(err, a.table)
		}
		if b == nil {
			if done, err := a.decide(); done || err != nil {
				return err
			}
			b = q.gather(w)
		}
		var o outcome
		if b == nil {
			o, err = a.write()
		} else {
			o, err = b.wait(a)
		}
		if err != nil || o == written {
			return err
		}
		if done, err := a.decide(); done || err != nil {
			return err
		}
	}
	return ErrContended
}

// enter waits until w has the turn of its key, or until its charge is in a
// batch, which it returns. After maxWait w goes on without a turn. enter fails
// when the context ends.
func (q *writeQueue) enter(w *waiter) (b *batch, err error) {
	if w.turn || q.begin(w) {
		return nil, nil
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case b = <-w.called:
		w.turn = b == nil
	case <-timer.C:
		b = q.giveUp(w)
	case <-w.ctx.Done():
		if b = q.giveUp(w); b == nil && !w.turn {
			return nil, w.ctx.Err()
		}
	}
	if b == nil {
		w.refresh()
	}
	return b, nil
}

// begin begins the turn of w, or adds w to the line of its key.
func (q *writeQueue) begin(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	line, taken := q.lines[w.charge.Key]
	if taken {
		w.called = make(chan *batch, 1)
		line = append(line, w)
	}
	q.lines[w.charge.Key], w.turn = line, !taken
	return w.turn
}

// giveUp takes w out of its line. If w was called just before, it has its turn,
// or its charge is in a batch, which giveUp returns.
func (q *writeQueue) giveUp(w *waiter) *batch {
	q.mu.Lock()
	line := q.lines[w.charge.Key]
	i := slices.Index(line, w)
	if i >= 0 {
		q.lines[w.charge.Key] = slices.Delete(line, i, i+1)
	}
	q.mu.Unlock()
	if i >= 0 {
		return nil
	}
	b := <-w.called
	w.turn = b == nil
	return b
}

// pass ends the turn of w, if it has one, and begins that of the next in line.
func (q *writeQueue) pass(w *waiter) {
	if !w.turn {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	key := w.charge.Key
	line := q.lines[key]
	if len(line) == 0 {
		delete(q.lines, key)
		return
	}
	line[0].called <- nil
	q.lines[key] = line[1:]
}

// gather sends one write for w, whose turn it is, and for the callers in line
// whose charges can join it. It returns nil if none can, or if w has no turn.
func (q *writeQueue) gather(w *waiter) *batch {
	if !w.turn || w.verdict.Before != nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[w.charge.Key]
	if len(line) == 0 {
		return nil
	}
	b := newBatch(w.attempt)
	q.lines[w.charge.Key] = slices.DeleteFunc(line, func(next *waiter) bool {
		if !b.join(next.attempt) {
			return false
		}
		next.called <- b
		return true
	})
	if len(b.attempts) == 1 {
		b.cancel(nil)
		return nil
	}
	go b.write()
	return b
}
