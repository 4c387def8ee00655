package protocol

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
)

// adversary is a system without callers. Any write that could have been planned
// from any past state of the item, or from none, by any clock, arrives at any
// moment, and so does any settlement. That covers any number of callers, clocks
// and delays; only the bound is looked at.
type adversary struct {
	scope
	clocks  int8 // go from 0 to before this
	past    int  // at most so many snapshots are remembered; beyond that the search does not go on
	deletes int8 // by an operator
	downs   int8 // settlements that refund
	ups     int8 // and those that charge more
	free    bool // those may settle charges of zero cost
	// transactions has charges sent in transactions too, which leave snapshots
	// that the item need not have had.
	transactions bool
	prunes       bool

	*oracle
	edges    map[edge][]reached
	outcomes map[outcome]uint32
	results  []outcome
	visits   []uint32 // when each outcome was visited last
	visit    uint32
	cut      bool // whether more snapshots were met than are remembered
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

func (a *adversary) start() (first adversaryState) { return first }

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

// charge visits what the charges make of the item that a snapshot plans. Two
// snapshots may lead to the same.
func (a *adversary) charge(x *adversaryState, snapshot uint32, visit func(move, adversaryState, string)) {
	for _, r := range a.reach(edge{snapshot, x.item, x.generations + 1}) {
		if a.visits[r.outcome] == a.visit {
			continue
		}
		a.visits[r.outcome] = a.visit
		next, o := *x, &a.results[r.outcome]
		broken := next.log.charge(a.writes.all[r.write].of.Limits, &o.marks)
		if ok := a.become(&next, o.item) && a.remember(&next, o.unseen); !ok && broken == "" {
			continue
		}
		if broken == "" {
			broken = a.items.all[o.item].broken
		}
		visit(move{kind: charged, write: r.write}, next, broken)
	}
}

// become gives the item a new state; it fails if no more can be remembered.
func (a *adversary) become(x *adversaryState, item uint32) bool {
	if x.item == 0 {
		x.generations++
	}
	x.item = item
	return a.remember(x, a.snapshotOf(item))
}

func (a *adversary) remember(x *adversaryState, snapshot uint32) bool {
	i, known := slices.BinarySearchFunc(x.past[:], snapshot, func(p, v uint32) int {
		if p == 0 {
			return 1
		}
		return int(p) - int(v)
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

// pruneBy visits what the pruning makes of the item that a snapshot plans.
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

// correct visits what settlements make of the item: of any charge that the
// exact log holds, by any clock. Those of generations that are over write
// nothing.
func (a *adversary) correct(x *adversaryState, visit func(move, adversaryState, string)) {
	for delta := range a.deltas {
		if gives := !a.charges(delta); gives && x.downs == a.downs || !gives && x.ups == a.ups {
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
	w := a.settle(c)
	if w == 0 {
		return
	}
	s, generation := &a.writes.all[w], a.receipts.all[c.receipt].Generation
	mine := generation == "" || generation == a.generationOf(x.item)
	if s.gives && mine && !x.log.holds(&s.marks) {
		return
	}
	after := a.apply(x.item, w, x.generations+1)
	if after == refused {
		return
	}
	next := *x
	if s.gives {
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

// receiptOf returns the receipt of a charge at a tick; generation 0 is that of
// a request that took nothing.
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
	case charged:
		return fmt.Sprintf("a caller with %s %s; item: %s", describeSnapshot(a.writes.all[m.write].snapshot), a.describeWrite(m.write), item)
	case pruned:
		return fmt.Sprintf("a caller with %s %s; item: %s", describeSnapshot(a.writes.all[m.write].snapshot), a.describeWrite(m.write), item)
	default:
		return fmt.Sprintf("a caller %s; item: %s", a.describeWrite(m.write), item)
	}
}
