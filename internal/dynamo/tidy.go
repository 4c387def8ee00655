package dynamo

import (
	"context"
	"sync"

	"github.com/slidegate/slidegate/internal/limit"
)

// tidying is a write that only removes expired slots. Callers without a view cannot name them, so an item that only such
// callers charge would grow.
type tidying struct {
	key  string
	view *view
	of   *limit.Charge
}

// fewestTidied is how many expired slots are worth a write.
const fewestTidied = 8

// noteTidying remembers, after a write without a view that left more than half a window of expired slots, to remove them
// when the next request comes: a Lambda does nothing between requests. A write with a view removes them itself.
func (s *Store) noteTidying(w *write, after *view, c *limit.Charge) {
	if w.life != "" {
		if due := s.tidying.Load(); due != nil && due.key == c.Key {
			s.tidying.CompareAndSwap(due, nil)
		}
		return
	}
	for i := range c.Limits {
		l := &c.Limits[i]
		if expired := int64(len(unreachable(after, i, l))); expired >= max(fewestTidied, l.Slots()/2+1) {
			s.tidying.Store(&tidying{key: c.Key, view: after, of: &limit.Charge{Key: c.Key, Limits: c.Limits}})
			return
		}
	}
}

// unreachable returns the slots that no window ending at the newest slot or later reaches. A bucket has no slots, and a log
// is always swapped for one without such.
func unreachable(v *view, i int, l *limit.Limit) []int64 {
	h, _ := v.states[i].Newest()
	return slotsBefore(&v.states[i].Slots, h-l.Slots())
}

// tidyOthers sends the tidying that is due while a request for another counter is served; the function it returns waits
// for it. Its failure loses nothing: the next writer with a view removes the slots.
func (s *Store) tidyOthers(ctx context.Context, key string) (wait func()) {
	due := s.tidying.Load()
	if due == nil || due.key == key || !s.tidying.CompareAndSwap(due, nil) {
		return func() {}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, _ = s.send(ctx, due.view.seen, due.of, tidyExpression(due.view, due.of.Limits))
	})
	return wg.Wait
}

// tidyExpression removes what no window reaches any more. The newest slot of a life only rises, so that is true whatever
// has happened to the item since the view.
func tidyExpression(v *view, limits []limit.Limit) *expression {
	x := newExpression()
	x.require(x.name(attrLife), "=", x.text("e", v.life))
	room := maxRemovals
	for i := range limits {
		slots := unreachable(v, i, &limits[i])
		slots = slots[:min(len(slots), room)]
		room -= len(slots)
		for _, slot := range slots {
			x.remove(slotName(letter(i), slot))
		}
	}
	return x
}
