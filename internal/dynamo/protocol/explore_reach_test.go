package protocol

import "slices"

// edge is a snapshot, an item that its writes may meet, and the generation that
// begins if there is none.
type edge struct {
	snapshot, item uint32
	generation     int8
}

// reached is a write that the item takes, and what becomes of it.
type reached struct {
	write   uint32
	outcome uint32
}

// outcome is all that a charge changes: the item, the exact log, and the
// snapshot that a transaction leaves.
type outcome struct {
	item, unseen uint32
	marks
}

// reach returns the charges from a snapshot that an item takes.
func (a *adversary) reach(e edge) []reached {
	if e.item != 0 {
		e.generation = 0
	}
	found, ok := a.edges[e]
	if ok {
		return found
	}
	for _, q := range a.questions(e.snapshot) {
		found = a.try(e, a.decide(q), found)
		if a.transactions {
			found = a.try(e, a.transaction(q), found)
		}
	}
	a.edges[e] = found
	return found
}

// try adds what a write makes of an item.
func (a *adversary) try(e edge, w uint32, found []reached) []reached {
	if w == denied || w == failed {
		return found
	}
	o := outcome{item: a.apply(e.item, w, e.generation), marks: a.writes.all[w].marks}
	if o.item == refused {
		return found
	}
	if a.writes.all[w].kind == transacting {
		o.unseen = a.unseen(w, generationName(e.generation))
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

// questions lists all that a caller with a snapshot may be about to decide.
func (a *adversary) questions(snapshot uint32) (all []question) {
	for clock := range a.clocks {
		for capacity := range a.limits {
			for cost := range a.costs {
				for _, first := range []bool{true, false} {
					all = append(all, question{snapshot: snapshot, clock: clock, capacity: int8(capacity), cost: int8(cost), first: first})
				}
			}
		}
	}
	return all
}
