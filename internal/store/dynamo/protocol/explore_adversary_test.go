package protocol

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
)

// adversary is a system without callers. Any write that could have been planned
// from any past state of the item, or from none, by any clock, arrives at any
// time, and so does any settlement. That covers any number of callers, clocks
// and delays. The search checks the bound alone.
type adversary struct {
	scope
	clocks  int8 // number of clocks, which show 0, 1, …
	past    int  // number of snapshots that the search remembers; it stops at more
	deletes int8 // by an operator
	downs   int8 // settlements that refund
	ups     int8 // settlements that charge more
	free    bool // settlements that charge more may settle charges of zero cost
	// transactions has charges sent in transactions too, whose snapshots may
	// never have been a state of the item.
	transactions bool
	prunes       bool

	*oracle
	edges    map[edge][]reached
	outcomes map[outcome]uint32
	results  []outcome
	visits   []uint32 // when each outcome was visited last
	visit    uint32
	cut      bool // whether there were more snapshots than past
}

const mostPast = 16

type adversaryState struct {
	item                uint32
	past                [mostPast]uint32 // ascending, 0 for none
	log                 ledger
	generations         int8
	deletes, downs, ups int8
}

// The kinds of an adversary's moves besides those of callers.
const (
	charged = settles + 1 + iota
	pruned
	corrected
)

func (a *adversary) with(t *testing.T) *adversary {
	with := *a
	with.oracle, with.edges, with.outcomes = newOracle(t, a.scope), map[edge][]reached{}, map[outcome]uint32{}
	return &with
}

func (a *adversary) start() (first adversaryState) {
	first.item, first.generations = a.first()
	a.remember(&first, a.snapshotOf(first.item))
	return first
}

func (a *adversary) fingerprint(x *adversaryState) uint64 { return maphash.Comparable(seed, *x) }

func (a *adversary) check(*adversaryState) string { return "" }

func (a *adversary) expand(x adversaryState, visit func(move, adversaryState, string)) {
	a.visit++
	a.charge(&x, 0, visit)
	for _, snapshot := range x.past {
		if snapshot != 0 {
			a.charge(&x, snapshot, visit)
			a.pruneBy(&x, snapshot, visit)
		}
	}
	a.correct(&x, visit)
	if x.item != 0 && x.deletes < a.deletes {
		next := x
		next.deletes++
		next.item, next.log = 0, ledger{}
		visit(move{kind: resets}, next, "")
	}
}

// charge visits the states after the charges that a snapshot plans. Two
// snapshots may lead to the same state.
func (a *adversary) charge(x *adversaryState, snapshot uint32, visit func(move, adversaryState, string)) {
	for _, r := range a.reach(edge{snapshot, x.item, x.generations + 1}) {
		if a.visits[r.outcome] == a.visit {
			continue
		}
		a.visits[r.outcome] = a.visit
		next, o := *x, &a.results[r.outcome]
		broken := next.log.charge(a.writes.all[r.write].of.Limits, &o.marks)
		if ok := a.become(&next, o.item) && a.remember(&next, o.assumed); !ok && broken == "" {
			continue
		}
		if broken == "" {
			broken = a.items.all[o.item].broken
		}
		visit(move{kind: charged, write: r.write}, next, broken)
	}
}

// become changes the item's state. It fails if the search cannot remember more
// snapshots.
func (a *adversary) become(x *adversaryState, item uint32) bool {
	if x.item == 0 {
		x.generations++
	}
	x.item = item
	return a.remember(x, a.snapshotOf(item))
}

func (a *adversary) remember(x *adversaryState, snapshot uint32) bool {
	i, known := slices.BinarySearchFunc(x.past[:], snapshot, func(p, q uint32) int {
		if p == 0 {
			return 1
		}
		return int(p) - int(q)
	})
	if snapshot == 0 || known {
		return true
	}
	if x.past[min(a.past, mostPast)-1] != 0 {
		a.cut = true
		return false
	}
	copy(x.past[i+1:], x.past[i:])
	x.past[i] = snapshot
	return true
}

// pruneBy visits the state after the pruning that a snapshot plans.
func (a *adversary) pruneBy(x *adversaryState, snapshot uint32, visit func(move, adversaryState, string)) {
	if !a.prunes {
		return
	}
	w := a.prune(snapshot)
	if w == 0 {
		return
	}
	if after := a.apply(x.item, w, 0); after != refused && after != x.item {
		next := *x
		if a.become(&next, after) {
			visit(move{kind: pruned, write: w}, next, a.items.all[after].broken)
		}
	}
}

// correct visits the states after settlements of any charge in the exact log,
// by any clock. Settlements of earlier generations write nothing.
func (a *adversary) correct(x *adversaryState, visit func(move, adversaryState, string)) {
	for delta := range a.deltas {
		if refunds := !a.charges(delta); refunds && x.downs == a.downs || !refunds && x.ups == a.ups {
			continue
		}
		for at := range a.clocks {
			for generation := range x.generations + 1 {
				for capacity := range a.limits {
					if generation > 0 || a.free {
						c := correction{receipt: a.receiptOf(at, generation), clock: at, capacity: int8(capacity), delta: int8(delta)}
						a.correctOne(x, c, visit)
					}
				}
			}
		}
	}
}

func (a *adversary) correctOne(x *adversaryState, c correction, visit func(move, adversaryState, string)) {
	receipt, mine := a.current(x.item, c.receipt)
	if mine {
		c.receipt = receipt
	}
	w := a.settle(c)
	if w == 0 {
		return
	}
	s := &a.writes.all[w]
	if s.refunds && mine && !x.log.contains(&s.marks) {
		return
	}
	after := a.apply(x.item, w, x.generations+1)
	if after == refused {
		return
	}
	next := *x
	if s.refunds {
		next.downs++
	} else {
		next.ups++
	}
	if mine {
		next.log.correct(&s.marks)
	}
	if a.become(&next, after) {
		visit(move{kind: corrected, write: w}, next, a.items.all[after].broken)
	}
}

// receiptOf returns the receipt of a charge at a tick. Generation 0 stands for
// a charge of zero cost.
func (a *adversary) receiptOf(at, generation int8) uint32 {
	var b bill
	if generation > 0 {
		b.Generation = generationName(generation)
	}
	for i := range a.limits[0] {
		if l := &a.limits[0][i]; !l.Bucket() {
			b.Slots[i] = l.SlotAt(moment(at))
		}
	}
	return a.receipt(b)
}

// describe describes a move.
func (a *adversary) describe(before *adversaryState, m move, after *adversaryState) string {
	switch item := a.describeItem(after.item); m.kind {
	case resets:
		return "an operator deletes the item"
	case charged, pruned:
		return fmt.Sprintf("a caller with %s %s; item: %s", describeSnapshot(a.writes.all[m.write].snapshot), a.describeWrite(m.write), item)
	default:
		return fmt.Sprintf("a caller %s; item: %s", a.describeWrite(m.write), item)
	}
}
