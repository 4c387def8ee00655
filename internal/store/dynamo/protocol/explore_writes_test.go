package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// kind is a kind of write of the protocol.
type kind uint8

const (
	charging kind = iota
	transacting
	settling
	pruning
)

// sent is a write: its plan by the real code, and its meaning for the exact
// log.
type sent struct {
	kind     kind
	of       *limit.Charge
	now      time.Time
	snapshot *Snapshot
	planned  *Plan // of a charge
	update   func(generation string) *Update
	marks    marks
	refunds  bool // it is a settlement that refunds
}

// marks are a write's entries in the exact log, by limit.
type marks [2]mark

// mark is a charge of units, as the caller plans it. Times are ticks since
// dawn.
type mark struct {
	units, capacity int8
	at              int8 // the charged slot's start or the time stamp; for a bucket the caller's clock
	effective       int8 // for a weighted window: the caller's clock, or at if that is later
}

// sent returns the number of a write, by everything that its outcome depends
// on.
func (o *oracle) sent(w sent) uint32 {
	x := w.update("created")
	if !o.ttl {
		delete(x.values, ":ttl")
	}
	var text strings.Builder
	fmt.Fprintln(&text, w.kind, x.condition(), x.assignments(), textOf(x.values), w.marks, w.refunds)
	if w.kind == transacting && w.snapshot != nil { // the snapshot after it depends on the one before
		text.WriteString(w.snapshot.text())
	}
	return o.writes.number(text.String(), func() sent { return w })
}

// marksOf returns the log entries of a planned charge.
func marksOf(w *Plan, s *Snapshot, c *limit.Charge, now time.Time) (m marks) {
	clock := int8(now.Sub(dawn) / tick)
	for _, lw := range w.limits {
		i, at := 0, clock
		switch lw := lw.(type) {
		case *slotPlan:
			i = index(lw.prefix)
			at = ticksOf(&c.Limits[i], lw.slot)
		case *logPlan:
			i = index(lw.prefix)
			if lw.charged {
				newest, _ := s.states[i].Newest()
				at = max(at, ticksOf(&c.Limits[i], newest))
			}
		case *bucketPlan:
			i = index(lw.prefix)
		}
		m[i] = mark{units: int8(c.Costs[i]), capacity: int8(c.Limits[i].MaxCost()), at: at}
		if c.Limits[i].Algorithm == limit.SlidingWindowCounter {
			m[i].effective = max(at, clock)
		}
	}
	return m
}

func index(prefix string) int { return int(prefix[0] - 'a') }

// transaction returns a charge in a transaction, whose answer has no item.
func (o *oracle) transaction(q question) uint32 {
	alone := o.decide(q)
	if alone == denied || alone == failed {
		return alone
	}
	w := o.writes.all[alone] // another snapshot may have planned the same write
	w.kind, w.snapshot, w.now = transacting, o.snapshots.all[q.snapshot], moment(q.clock)
	w.update = func(newGeneration string) *Update {
		return PlanTransaction(w.snapshot, w.of, w.now, w.now, newGeneration)
	}
	return o.sent(w)
}

// assumed returns the caller's snapshot after a transaction.
func (o *oracle) assumed(w uint32, newGeneration string) uint32 {
	s := &o.writes.all[w]
	after := s.snapshot.AfterTransaction(s.of, s.now, newGeneration)
	o.mutant.misremember(after)
	return o.snapshot(after)
}

// prune returns the write that removes expired slots of a snapshot; 0 if there
// are none.
func (o *oracle) prune(snapshot uint32) uint32 {
	old := o.snapshots.all[snapshot]
	if len(PlanPruning(old, o.limits[0]).removals) == 0 {
		return 0
	}
	return o.sent(sent{
		kind: pruning, of: &limit.Charge{Key: "key", Limits: o.limits[0]}, now: dawn, snapshot: old,
		update: func(string) *Update { return PlanPruning(old, o.limits[0]) },
	})
}
