package sim

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updated records the outcome of a write of one item.
func (w *world) updated(c *call, err error) {
	w.count("writes", 1)
	if c.request.part(c.key()) == nil {
		w.pruned(c, err)
		return
	}
	for i, member := range c.members {
		one := *c
		one.request, one.more = member, i+1 < len(c.members)
		member.part(c.key()).written(w, &one, err)
	}
}

// transacted records the outcome of a transaction.
func (w *world) transacted(c *call, in *dynamodb.TransactWriteItemsInput, err error) {
	w.count("writes", 2*int64(len(in.TransactItems)))
	for i := range in.TransactItems {
		c.request.part(keyOf(in.TransactItems[i].Update.Key)).written(w, c, err)
	}
}

// written records the outcome of a write for a part of its request. The table
// may refuse the write for its condition alone.
func (p *part) written(w *world, c *call, err error) {
	p.attempts++
	k := p.counter
	switch {
	case err != nil && !isConditionFailed(err):
		k.violated(w, "the table refuses a write as invalid: "+err.Error())
	case err != nil:
		p.recordRoom(c)
		k.note(w, "refused by %d", c.environment.number)
	case c.request.operation == settle:
		w.count("corrections", 1)
		k.settle(w, c, p, w.table.Item(k.key))
	default:
		k.charge(w, c, p, w.table.Item(k.key))
	}
}

// pruned records a write of a counter that the request is not about. Such a
// write may only prune.
func (w *world) pruned(c *call, err error) {
	w.count("pruning writes", 1)
	k := w.counters[c.key()]
	switch {
	case k == nil:
	case err == nil:
		k.stored(w, w.table.Item(k.key))
		k.note(w, "pruned by %d", c.environment.number)
	case !isConditionFailed(err):
		k.violated(w, "the table refuses a pruning write as invalid: "+err.Error())
	}
}

// read records a read of an item.
func (w *world) read(c *call) {
	w.count("reads", 1)
	if p := c.request.part(c.key()); p != nil {
		p.recordRoom(c)
	}
}

// recordRoom records whether the charge has room when a store reads its item.
func (p *part) recordRoom(c *call) {
	if !c.over && !c.lost {
		p.itemRead, p.room = true, p.counter.room(&p.charge, c.request.now)
	}
}

// deleted records an operator's reset.
func (w *world) deleted(c *call) {
	w.count("resets", 1)
	w.counters[c.key()].restart(w)
}

// isConditionFailed reports whether a write failed by its condition.
func isConditionFailed(err error) bool {
	var refused *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException
	return errors.As(err, &refused) || errors.As(err, &canceled)
}
