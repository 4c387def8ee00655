package outage

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updated records the outcome of a write. The table may refuse it for its
// condition alone.
func (w *world) updated(c *call, err error) {
	w.count("writes", 1)
	k := w.counters[c.key()]
	if k != c.request.counter {
		w.count("pruning writes", 1) // nothing else writes a counter that the request is not about
	}
	refused := new(types.ConditionalCheckFailedException)
	switch {
	case err != nil && !errors.As(err, &refused):
		k.violated(w, "the table refuses a write as invalid: "+err.Error())
	case err != nil && k == c.request.counter:
		for _, member := range c.members {
			member.attempts++
		}
		k.note(w, "refused by %d", c.environment.number)
	case err != nil:
	case k != c.request.counter:
		k.stored(w, w.table.Item(k.key))
		k.note(w, "pruned by %d", c.environment.number)
	default:
		for i, member := range c.members {
			member.attempts++
			one := *c
			one.request, one.more = member, i+1 < len(c.members)
			k.charge(w, &one, w.table.Item(k.key))
		}
	}
}
