package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

// kind is a kind of write of the protocol.
type kind uint8

const (
	charging kind = iota
	transacting
	settling
	pruning
	renewing
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
	fmt.Fprintln(&text, w.kind, x.condition(), x.assignments(), x.names, textOf(x.values), w.marks, w.refunds)
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

// The files explore_*_test.go search small systems exhaustively. They call this
// package's planning code, interpret its real expressions with a model of
// DynamoDB, and try every interleaving that a scope allows. Small systems have
// few different decisions: the oracle calls the real code once for each and
// caches the answer, so that a state of a search is a few small integers.

// tick is the step of all clocks. It is as long as the slack of the ttl, so
// that a search reaches the expiry of items.
const tick = slack

// dawn is tick 0, at which a window of every explored length starts.
var dawn = time.Unix(0, 0).Add(480_000 * tick)

// moment returns the time that a clock shows after some ticks.
func moment(ticks int8) time.Time { return dawn.Add(time.Duration(ticks) * tick) }

// ticksOf returns how many ticks after dawn a slot begins.
func ticksOf(l *limit.Limit, slot int64) int8 { return int8(l.Until(slot, dawn) / tick) }

// scope is the range of a search: the limits of one key, at each of the
// capacities that callers may know, the costs of charges, and their
// corrections.
type scope struct {
	limits [][]limit.Limit
	costs  [][]int64
	deltas [][]int64
	ttl    bool // whether expiry is explored; otherwise items have no ttl
	worn   bool // the first item's totals are so large that another charge lowers them
	mutant *mutant
}

// sliding returns a sliding window of k slots before the current one, each one
// tick wide; a fixed window for k = 0.
func sliding(capacity, k int64) limit.Limit {
	if k == 0 {
		return limit.Limit{Algorithm: limit.FixedWindow, Capacity: capacity, Window: tick, Granularity: tick}
	}
	return limit.Limit{Capacity: capacity, Window: time.Duration(k) * tick, Granularity: tick}
}

// weighted returns a sliding window counter whose window lasts some ticks.
func weighted(capacity, ticks int64) limit.Limit {
	window := time.Duration(ticks) * tick
	return limit.Limit{Algorithm: limit.SlidingWindowCounter, Capacity: capacity, Window: window, Granularity: window}
}

// logged returns a sliding window log.
func logged(capacity, ticks int64) limit.Limit {
	window := time.Duration(ticks) * tick
	return limit.Limit{Algorithm: limit.SlidingWindowLog, Capacity: capacity, Window: window, Granularity: limit.Exact}
}

// bucket returns a token bucket that refills one unit in two ticks.
func bucket(burst int64) limit.Limit {
	return limit.Limit{Algorithm: limit.TokenBucket, Capacity: 1, Window: 2 * tick, Burst: burst}
}

// one returns a scope of a single limit, whose capacity may change, and whose
// charges cost from 1 to costs units.
func one(costs int64, limits ...limit.Limit) scope {
	var s scope
	for _, l := range limits {
		s.limits = append(s.limits, []limit.Limit{l})
	}
	for cost := int64(1); cost <= costs; cost++ {
		s.costs = append(s.costs, []int64{cost})
		s.deltas = append(s.deltas, []int64{-cost})
	}
	s.deltas = append(s.deltas, []int64{1})
	if !limits[0].Correctable() {
		s.deltas = nil
	}
	return s
}

// two returns a scope of two limits. A charge takes from both, or from one
// alone.
func two(a, b limit.Limit, deltas ...[]int64) scope {
	return scope{limits: [][]limit.Limit{{a, b}}, costs: [][]int64{{1, 1}, {1, 0}, {0, 2}}, deltas: deltas}
}

func (s scope) expiring() scope {
	s.ttl = true
	return s
}

// wornOut has a search begin with an item that has charged maxTotal units, long
// ago.
func (s scope) wornOut() scope {
	s.worn = true
	return s
}

// first returns the item with which a search begins, and how many generations
// there were.
func (o *oracle) first() (i uint32, generations int8) {
	if !o.worn {
		return 0, 0
	}
	attributes := item{AttributeKey: &types.AttributeValueMemberS{Value: "key"},
		attributeGeneration: &types.AttributeValueMemberS{Value: generationName(1)}}
	for n := range o.limits[0] {
		l, prefix := &o.limits[0][n], prefixOf(n)
		if !l.Correctable() {
			continue
		}
		old := l.SlotAt(dawn) - l.Slots() - 1
		attributes[prefix+attributeTotal], attributes[prefix+attributeNewest] = number(maxTotal), number(old)
		attributes[slotName(prefix, old)] = number(0)
		attributes[prefix+attributeCredit], attributes[prefix+attributeCapacity] = number(0), number(l.Capacity)
	}
	return o.item(attributes), 1
}

// charge returns a charge of the explored key.
func (s *scope) charge(capacity, cost int8) *limit.Charge {
	return &limit.Charge{Key: "key", Limits: s.limits[capacity], Costs: s.costs[cost]}
}

// slots returns k of the first limit.
func (s *scope) slots() int8 { return int8(s.limits[0][0].Slots()) }

// quiet returns the number of ticks without a request after which every limit
// is empty.
func (s *scope) quiet() (ticks int8) {
	for i := range s.limits[0] {
		l := &s.limits[0][i]
		ticks = max(ticks, int8((l.Drain()+l.Window+l.Granularity)/tick)+1)
	}
	return ticks
}

// charges reports whether a settlement charges more.
func (s *scope) charges(delta int) bool {
	return slices.ContainsFunc(s.deltas[delta], func(d int64) bool { return d > 0 })
}
