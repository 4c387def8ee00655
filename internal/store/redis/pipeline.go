package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/store/breaker"
)

// lanes is how many round trips may be under way at once before further calls
// share the next one.
const lanes = 2

// maxWait is how long calls wait for a lane before they get another one. The
// connections of the others may hang, as after a failover.
const maxWait = 50 * time.Millisecond

// pipeliner is a client that can send several commands in one round trip.
type pipeliner interface {
	Client
	Pipeline() goredis.Pipeliner
}

// pipelined is a client of one server whose concurrent calls share round trips:
// system calls take most of a call's time, here and in the server. A call that
// finds a free lane is sent at once, as without a pipeline. Others wait until a
// round trip ends, and are sent together.
type pipelined struct {
	pipeliner
	maxWait time.Duration

	mu       sync.Mutex
	underWay int // lanes in use
	waiting  []*waiter
	overdue  *time.Timer // calls overtake when the first call has waited too long
}

// waiter is a call that waits for a lane. Its goroutine may have left when the
// call is sent or answered, because its context has ended.
type waiter struct {
	ctx  context.Context
	cmd  once
	done chan struct{}
	// shared is set if another call of the same round trip reports its failure.
	shared bool
}

// call sends a command and returns its answer. If the context ends while the
// call waits for a lane, it is not sent.
func (p *pipelined) call(ctx context.Context, words []any) (answer string, err error) {
	cmd := once{goredis.NewStringCmd(ctx, words...)}
	p.mu.Lock()
	if p.underWay < lanes {
		p.underWay++
		p.mu.Unlock()
		defer p.next()
		_ = p.Process(ctx, cmd) // its error is the command's too
		return cmd.Result()
	}
	w := &waiter{ctx: ctx, cmd: cmd, done: make(chan struct{})}
	p.wait(w)
	p.mu.Unlock()
	select {
	case <-w.done:
		if answer, err = cmd.Result(); w.shared && err != nil && !answered(err) {
			err = sharedError{err}
		}
		return answer, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// wait has a call wait for a lane. The caller holds the lock.
func (p *pipelined) wait(w *waiter) {
	switch {
	case len(p.waiting) > 0:
	case p.overdue == nil:
		p.overdue = time.AfterFunc(p.maxWait, p.overtake)
	default:
		p.overdue.Reset(p.maxWait)
	}
	p.waiting = append(p.waiting, w)
}

// next gives the lane of a round trip that has ended to the calls that wait.
func (p *pipelined) next() {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting = nil
	if len(waiting) == 0 {
		p.underWay--
	}
	p.mu.Unlock()
	if len(waiting) > 0 {
		go p.send(waiting)
	}
}

// overtake gives another lane to the calls that wait.
func (p *pipelined) overtake() {
	p.mu.Lock()
	p.underWay++
	p.mu.Unlock()
	p.next()
}

// send makes one round trip for all calls whose context has not ended. It may
// take as long as the one with the latest deadline; the others leave before.
func (p *pipelined) send(waiting []*waiter) {
	defer p.next()
	pipe, ctx := p.Pipeline(), context.Background()
	var latest time.Time
	bounded := true
	for _, w := range waiting {
		defer close(w.done)
		if w.ctx.Err() != nil {
			w.cmd.SetErr(w.ctx.Err())
			continue
		}
		deadline, ok := w.ctx.Deadline()
		bounded = bounded && ok
		if deadline.After(latest) {
			latest = deadline
		}
		w.shared = pipe.Len() > 0
		_ = pipe.Process(ctx, w.cmd)
	}
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, latest)
		defer cancel()
	}
	_, _ = pipe.Exec(ctx) // its errors are the commands' too
}

// sharedError is the failure of a round trip that another call has reported too.
// A breaker counts a lost connection once, however many calls it held.
type sharedError struct{ error }

// Unwrap returns the error.
func (e sharedError) Unwrap() error { return e.error }

// Is reports whether the target is breaker.ErrNeutral.
func (sharedError) Is(target error) bool { return target == breaker.ErrNeutral }
