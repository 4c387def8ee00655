package dynamo

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// maxBatch bounds the charges of one write, which all fail with it.
const maxBatch = 100

// batch is one write for the charges of several attempts.
type batch struct {
	*counters
	plan     *protocol.Batch
	attempts []*attempt // the leader first, whose snapshot plans the write

	ctx     context.Context
	cancel  context.CancelCauseFunc
	waiting atomic.Int64 // attempts whose callers wait for the answer

	done     chan struct{} // closed after the fields below are set
	after    *protocol.Snapshot
	outcome  outcome
	verdicts []limit.Verdict // by attempt, once the charges are written
	err      error
}

// newBatch returns a batch of the leader alone. Its write continues when the
// leader's context ends, because other callers wait for it.
func newBatch(leader *attempt) *batch {
	b := &batch{
		counters: leader.counters, plan: protocol.NewBatch(leader.snapshot, leader.charge, leader.now),
		attempts: []*attempt{leader}, done: make(chan struct{}),
	}
	b.ctx, b.cancel = context.WithCancelCause(context.WithValue(context.WithoutCancel(leader.ctx), callersKey{}, b))
	b.waiting.Store(1)
	return b
}

type callersKey struct{}

// Callers returns the contexts of the callers whose charges a write makes, in
// the order of the charges. Only a batch's write has more than one. Simulations
// use it to end a write when all of its callers are gone.
func Callers(write context.Context) []context.Context {
	b, ok := write.Value(callersKey{}).(*batch)
	if !ok {
		return []context.Context{write}
	}
	callers := make([]context.Context, len(b.attempts))
	for i, a := range b.attempts {
		callers[i] = a.ctx
	}
	return callers
}

// join joins a to the batch if one write can make both.
func (b *batch) join(a *attempt) bool {
	if len(b.attempts) == maxBatch || !b.plan.Add(a.charge, a.now) {
		return false
	}
	b.attempts = append(b.attempts, a)
	b.waiting.Add(1)
	return true
}

// write makes the charges of all attempts, or of none. It computes a verdict for
// each attempt, as if the charges were made one after another.
func (b *batch) write() {
	defer b.cancel(nil)
	defer close(b.done)
	leader, c := b.attempts[0], b.plan.Charge()
	update := b.plan.Plan(b.opts.Wall(), leader.refusals == 0).Update(b.opts.NewGeneration())
	b.after, b.outcome, b.err = b.send(b.ctx, b.plan.Now(), c, update)
	if b.err != nil || b.outcome != written {
		return
	}
	if b.err = b.plan.Verify(b.after); b.err == nil {
		b.planPruning(c, b.after, leader.snapshot != nil)
		b.verdicts = make([]limit.Verdict, len(b.attempts))
		b.plan.Admit(b.after, b.verdicts)
	}
}

// wait waits for the answer, and gives a its verdict or the snapshot of a
// refusal. The last caller that gives up ends the write.
func (b *batch) wait(a *attempt) (outcome, error) {
	select {
	case <-b.done:
	case <-a.ctx.Done():
		if b.waiting.Add(-1) == 0 {
			b.cancel(context.Cause(a.ctx))
		}
		return 0, Translate(a.ctx.Err(), b.table)
	}
	switch {
	case b.err != nil:
	case b.outcome == written:
		*a.verdict = b.verdicts[slices.Index(b.attempts, a)]
	default:
		a.refused(b.after, b.outcome)
	}
	return b.outcome, b.err
}
