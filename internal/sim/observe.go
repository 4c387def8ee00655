package sim

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updated records the outcome of a write of one item.
func (w *world) updated(c *call, out *dynamodb.UpdateItemOutput, err error) {
	w.report.Writes++
	p := c.request.part(c.key())
	switch other := c.environment.other; {
	case other != nil:
		other.wrote(w, c)
		return
	case p == nil:
		w.unasked(c, out, err)
		return
	}
	p.attempts++
	switch {
	case err != nil:
		p.sight(c)
		w.refused(c, p, err)
	case c.request.operation == settle:
		w.report.Settled++
		p.counter.settle(w, c, p, out.Attributes)
	default:
		p.counter.charge(w, c, p, out.Attributes)
	}
}

// refused records a write that the table did not make. The table may refuse a
// write for its condition alone.
func (w *world) refused(c *call, p *part, err error) {
	if !isRefusal(err) {
		p.counter.violated(w, "the table does not take a write: "+err.Error())
		return
	}
	p.counter.history.add(happening{at: w.now, environment: c.environment.number, what: "refused"})
}

// unasked records a write of a counter that the request is not about. Such a
// write may only prune.
func (w *world) unasked(c *call, out *dynamodb.UpdateItemOutput, err error) {
	w.report.Pruned++
	k := w.counters[c.key()]
	switch {
	case k == nil:
	case err != nil && !isRefusal(err):
		k.violated(w, "the table does not take a pruning write: "+err.Error())
	case err == nil:
		k.stored(w, out.Attributes)
		k.history.add(happening{at: w.now, environment: c.environment.number, what: "pruned"})
	}
}

// transacted records the outcome of a transaction.
func (w *world) transacted(c *call, in *dynamodb.TransactWriteItemsInput, err error) {
	w.report.Writes += 2 * int64(len(in.TransactItems))
	for i := range in.TransactItems {
		p := c.request.part(keyOf(in.TransactItems[i].Update.Key))
		p.attempts++
		if err != nil {
			p.sight(c)
			w.refused(c, p, err)
			continue
		}
		p.counter.charge(w, c, p, w.table.Item(p.counter.key))
	}
}

// seen records a read.
func (w *world) seen(c *call) {
	w.report.Reads++
	if p := c.request.part(c.key()); p != nil {
		p.sight(c)
	}
}

// sight records, when the table shows an item to a store, whether there is
// room.
func (p *part) sight(c *call) {
	if !c.over && !c.lost {
		p.asked, p.room = true, room(p.counter.charged, &p.charge, c.request.now)
	}
}

// deleted records an operator's reset.
func (w *world) deleted(c *call) {
	w.report.Resets++
	if k := w.counters[c.key()]; k != nil {
		k.restart(w)
	}
}

// isRefusal reports whether a write failed by its condition.
func isRefusal(err error) bool {
	var refused *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException
	return errors.As(err, &refused) || errors.As(err, &canceled)
}
