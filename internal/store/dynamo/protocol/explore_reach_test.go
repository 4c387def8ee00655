package protocol

import "slices"

// edge is a snapshot, an item that its writes are applied to, and the
// generation that they create if there is no item.
type edge struct {
	snapshot, item uint32
	generation     int8
}

// reached is a write that succeeds, and the item after it.
type reached struct {
	write   uint32
	outcome uint32
}

// outcome is everything that a charge changes: the item, the exact log, and the
// snapshot after a transaction.
type outcome struct {
	item, assumed uint32
	marks
}

// reach returns the charges planned from a snapshot that succeed on an item.
func (a *adversary) reach(e edge) []reached {
	if e.item != 0 {
		e.generation = 0
	}
	return memo(a.edges, e, a.writesOf)
}

// writesOf is reach without the cache.
func (a *adversary) writesOf(e edge) (found []reached) {
	for _, q := range a.questions(e.snapshot) {
		found = a.try(e, a.decide(q), found)
		if a.transactions {
			found = a.try(e, a.transaction(q), found)
		}
	}
	return found
}

// try adds the item after a write.
func (a *adversary) try(e edge, w uint32, found []reached) []reached {
	if w == denied || w == failed {
		return found
	}
	o := outcome{item: a.apply(e.item, w, e.generation), marks: a.writes.all[w].marks}
	if o.item == refused {
		return found
	}
	if a.writes.all[w].kind == transacting {
		o.assumed = a.assumed(w, generationName(e.generation))
	}
	n, known := a.outcomes[o]
	if !known {
		n = uint32(len(a.results))
		a.outcomes[o] = n
		a.results, a.visits = append(a.results, o), append(a.visits, 0)
	}
	if slices.ContainsFunc(found, func(r reached) bool { return r.outcome == n }) {
		return found
	}
	return append(found, reached{w, n})
}

// questions lists every decision that a caller with a snapshot may have to
// make.
func (a *adversary) questions(snapshot uint32) (all []question) {
	for clock := range a.clocks {
		for capacity := range a.limits {
			for cost := range a.costs {
				for _, first := range []bool{true, false} {
					q := question{snapshot: snapshot, clock: clock, capacity: int8(capacity), cost: int8(cost), first: first}
					all = append(all, q)
				}
			}
		}
	}
	return all
}
