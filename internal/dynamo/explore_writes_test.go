package dynamo

import (
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// kind tells the writes of the protocol apart.
type kind uint8

const (
	charging kind = iota
	transacting
	settling
	tidyingUp
)

// sent is a write on its way: what the real code planned, and what it means to the exact log.
type sent struct {
	kind    kind
	of      *limit.Charge
	now     time.Time
	view    *view
	planned *write // of a charge
	spell   func(life string) *expression
	marks   marks
	gives   bool // back
}

// marks are what a write does to each limit by the exact log.
type marks [2]mark

// mark says that units are charged, as the caller means it. Times are ticks since dawn.
type mark struct {
	units, capacity int8
	at              int8 // when the slot begins, or the stamp, that is charged; of a bucket the caller's clock
	effective       int8 // of a weighted window: the caller's clock, or at if that is later
}

// sent numbers a write by all that its outcome depends on.
func (o *oracle) sent(w sent) uint32 {
	x := w.spell("begun")
	if !o.ttl {
		delete(x.values, ":ttl")
	}
	var text strings.Builder
	fmt.Fprintln(&text, w.kind, x.condition(), x.update(), textOf(x.values), w.marks, w.gives)
	if w.kind == transacting && w.view != nil { // what it leaves as a view depends on the one that it came from
		text.WriteString(w.view.text())
	}
	return o.writes.number(text.String(), func() sent { return w })
}

// marksOf returns what a planned charge means.
func marksOf(w *write, v *view, c *limit.Charge, now time.Time) (m marks) {
	clock := int8(now.Sub(dawn) / tick)
	for _, lw := range w.limits {
		i, at := 0, clock
		switch lw := lw.(type) {
		case *slotWrite:
			i = index(lw.letter)
			at = ticksOf(&c.Limits[i], lw.slot)
		case *logWrite:
			i = index(lw.letter)
			if lw.known {
				newest, _ := v.states[i].Newest()
				at = max(at, ticksOf(&c.Limits[i], newest))
			}
		case *bucketWrite:
			i = index(lw.letter)
		}
		m[i] = mark{units: int8(c.Costs[i]), capacity: int8(c.Limits[i].Most()), at: at}
		if c.Limits[i].Algorithm == limit.SlidingWindowCounter {
			m[i].effective = max(at, clock)
		}
	}
	return m
}

func index(letter string) int { return int(letter[0] - 'a') }

// transaction returns a charge as a part of a transaction, which tells less of the item than a write alone.
func (o *oracle) transaction(q question) uint32 {
	alone := o.decide(q)
	if alone == denied || alone == failed {
		return alone
	}
	w := o.writes.all[alone] // another view may have led to the same
	planned := *w.planned
	planned.proven = true
	w.kind, w.view, w.now = transacting, o.views.all[q.view], moment(q.clock)
	w.spell = func(life string) *expression { return chargeExpression(&planned, life) }
	return o.sent(w)
}

// unseen returns the view that a transaction leaves with its caller. begun is the life that begins, if one does.
func (o *oracle) unseen(w uint32, begun string) uint32 {
	s := &o.writes.all[w]
	m := &member{charge: s.of, verdict: &limit.Verdict{}, view: s.view, life: begun}
	if s.view != nil {
		m.life = s.view.life
	}
	o.store.views.drop(s.of.Key)
	o.store.admitUnseen(m, s.now)
	v := o.store.views.get(s.of)
	o.mutant.misremember(v)
	return o.view(v)
}

// tidy returns the write that removes expired slots of a view; 0 where there are none.
func (o *oracle) tidy(v uint32) uint32 {
	seen := o.views.all[v]
	if len(tidyExpression(seen, o.limits[0]).removals) == 0 {
		return 0
	}
	return o.sent(sent{
		kind: tidyingUp, of: &limit.Charge{Key: "key", Limits: o.limits[0]}, now: dawn, view: seen,
		spell: func(string) *expression { return tidyExpression(seen, o.limits[0]) },
	})
}
