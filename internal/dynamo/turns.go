package dynamo

import (
	"slices"
	"sync"
	"time"
)

// patience is how long a caller waits for another write of its process. A write
// that takes longer may have lost its connection, and would hold up every other
// caller of the key until its deadline.
const patience = 50 * time.Millisecond

// turns has the writes of one process to one key take turns, because writes at
// the same time would make each other's conditions fail. The write of a turn
// makes the charges of the callers in line too, where it can.
type turns struct {
	mu    sync.Mutex
	lines map[string][]*charging // the callers that wait, for each key that has a turn
}

// enter begins a turn, or joins the line.
func (t *turns) enter(x *charging) (begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, taken := t.lines[x.charge.Key]
	if taken {
		x.called = make(chan *group, 1)
		line = append(line, x)
	}
	t.lines[x.charge.Key], x.turn = line, !taken
	return x.turn
}

// pass ends a turn and begins that of the first in line.
func (t *turns) pass(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.lines[key]
	if len(line) == 0 {
		delete(t.lines, key)
		return
	}
	line[0].called <- nil
	t.lines[key] = line[1:]
}

// leave takes a caller out of the line, unless it was called before.
func (t *turns) leave(x *charging) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.lines[x.charge.Key]
	i := slices.Index(line, x)
	if i >= 0 {
		t.lines[x.charge.Key] = slices.Delete(line, i, i+1)
	}
	return i >= 0
}

// gather returns a group of the caller whose turn it is and of those in line
// whose charges fit, and calls them; nil if there are none.
func (t *turns) gather(leader *charging) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.lines[leader.charge.Key]
	if len(line) == 0 {
		return nil
	}
	g := newGroup(leader)
	t.lines[leader.charge.Key] = slices.DeleteFunc(line, g.add)
	if len(g.members) == 1 {
		g.cancel(nil)
		return nil
	}
	g.left.Store(int64(len(g.members)))
	for _, x := range g.members[1:] {
		x.called <- g
	}
	return g
}

// wait waits in line until it is the caller's turn, or its charge is in a group.
// A caller whose patience ends goes on without a turn. It fails when the context
// ends.
func (t *turns) wait(x *charging) (g *group, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case g = <-x.called:
		x.turn = g == nil
		return g, nil
	case <-timer.C:
	case <-x.ctx.Done():
		err = x.ctx.Err()
	}
	if t.leave(x) {
		return nil, err
	}
	g = <-x.called // it was called just before
	x.turn = g == nil
	return g, nil
}
