package dynamo

import (
	"context"
	"sync/atomic"

	"github.com/slidegate/slidegate/internal/dynamo/protocol"
	"github.com/slidegate/slidegate/internal/limit"
)

// maxGroup bounds the charges of one write, which all fail with it.
const maxGroup = 100

// group is one write for the charges of several callers.
type group struct {
	*protocol.Group
	members []*charging        // the leader first
	before  *protocol.Snapshot // that the write is planned from; nil for none
	first   bool               // it is the leader's first attempt

	ctx    context.Context
	cancel context.CancelCauseFunc
	left   atomic.Int64 // members that still wait for the answer

	done     chan struct{} // closed when the answer is there
	after    *protocol.Snapshot
	outcome  outcome
	verdicts []limit.Verdict // of charges that were written
	err      error
}

// newGroup returns a group of the leader alone. Its write goes on when the
// leader's context ends, because others wait for it.
func newGroup(leader *charging) *group {
	leader.number = 0
	g := &group{
		Group: protocol.NewGroup(leader.snapshot, leader.charge, leader.now), members: []*charging{leader},
		before: leader.snapshot, first: leader.attempts == 0, done: make(chan struct{}),
	}
	g.ctx, g.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(leader.ctx), callersKey{}, g))
	return g
}

type callersKey struct{}

// Callers returns the contexts of the callers whose charges a write makes, in
// the order of the charges. Only a group's write has more than one.
func Callers(write context.Context) []context.Context {
	g, ok := write.Value(callersKey{}).(*group)
	if !ok {
		return []context.Context{write}
	}
	callers := make([]context.Context, len(g.members))
	for i, x := range g.members {
		callers[i] = x.ctx
	}
	return callers
}

// add adds a caller whose charge fits.
func (g *group) add(x *charging) bool {
	if len(g.members) == maxGroup || !g.Add(x.charge, x.now) {
		return false
	}
	x.number = len(g.members)
	g.members = append(g.members, x)
	return true
}

// wait waits for the answer. The last member that gives up ends the write.
func (g *group) wait(ctx context.Context) error {
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		if g.left.Add(-1) == 0 {
			g.cancel(context.Cause(ctx))
		}
		return ctx.Err()
	}
}

// writeAll makes the write of a group.
func (s *Store) writeAll(g *group) {
	defer g.cancel(nil)
	defer close(g.done)
	c, now := g.Charge(), g.Now()
	g.after, g.outcome, g.err = s.send(g.ctx, now, c, g.Plan(s.opts.Wall(), g.first).Update(s.opts.NewGeneration()))
	if g.err != nil || g.outcome != written {
		return
	}
	if g.err = g.Verify(g.after); g.err == nil {
		s.planPruning(c, g.after, g.before != nil)
		g.verdicts = make([]limit.Verdict, len(g.members))
		g.Admit(g.after, g.verdicts)
	}
}
