package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// move is one step of a system, for its trace.
type move struct {
	kind, who, arg int8
	write          uint32
}

// system defines the states and moves of a search.
type system[S any] interface {
	start() S
	// expand visits every state that one move leads to, always in the same
	// order, with the invariant that the move breaks, if any.
	expand(s S, visit func(m move, next S, broken string))
	// check returns the invariant that a state itself breaks, if any.
	check(s *S) string
	// fingerprint identifies a state. States with the same future have the
	// same fingerprint.
	fingerprint(s *S) uint64
	describe(before *S, m move, after *S) string
}

// finding is the result of a search.
type finding struct {
	states int
	took   time.Duration
	broken string   // the broken invariant; empty for none
	trace  []string // a shortest one to the broken invariant
}

func (f *finding) String() string {
	verdict := "no violation"
	if f.broken != "" {
		verdict = fmt.Sprintf("%s, in %d moves:\n\t%s", f.broken, len(f.trace), strings.Join(f.trace, "\n\t"))
	}
	return fmt.Sprintf("%d states in %.1f s: %s", f.states, f.took.Seconds(), verdict)
}

// step is how a state was first reached.
type step struct {
	from uint32
	nth  uint32 // visit of its expansion
}

// frontier is a list of states to expand.
type frontier[S any] struct {
	states []S
	ids    []uint32
}

// walk is a breadth-first search, so the first violation that it finds has a
// shortest trace. 64 bits identify a state: the chance that two of 10⁸ states
// collide is 0.03%.
type walk[S any] struct {
	system[S]
	only string // the invariant to check, such as "I1"; empty for all
	seen map[uint64]struct{}
	path []step
	next frontier[S]
	finding
	at uint32 // where it is broken
}

// mostStates bounds a search by about four gigabytes.
const mostStates = 20_000_000

// explore searches all states of a system.
func explore[S any](sys system[S], only string) finding {
	began := time.Now()
	w := &walk[S]{system: sys, only: only, seen: map[uint64]struct{}{}}
	first := sys.start()
	w.visit(step{}, &first, "")
	for w.broken == "" && len(w.next.ids) > 0 {
		level := w.next
		w.next = frontier[S]{}
		for i := range level.ids {
			if w.expandOne(level.states[i], level.ids[i]); w.broken != "" {
				w.trace = w.replay(w.at)
				break
			}
			if len(w.seen) > mostStates {
				w.broken = "not explored: there are too many states"
				break
			}
		}
	}
	w.states, w.took = len(w.seen), time.Since(began)
	return w.finding
}

func (w *walk[S]) expandOne(s S, id uint32) {
	nth := uint32(0)
	w.expand(s, func(_ move, next S, broken string) {
		if w.broken == "" {
			w.visit(step{id, nth}, &next, broken)
		}
		nth++
	})
}

func (w *walk[S]) visit(from step, s *S, broken string) {
	key := w.fingerprint(s)
	_, known := w.seen[key]
	if !w.minds(broken) {
		if known {
			return
		}
		broken = w.check(s)
	}
	id := uint32(len(w.path))
	w.seen[key] = struct{}{}
	w.path = append(w.path, from)
	if w.minds(broken) {
		w.broken, w.at = broken, id
		return
	}
	w.next.states, w.next.ids = append(w.next.states, *s), append(w.next.ids, id)
}

func (w *walk[S]) minds(broken string) bool { return broken != "" && strings.HasPrefix(broken, w.only) }

// replay describes the moves to a state.
func (w *walk[S]) replay(id uint32) (trace []string) {
	var steps []step
	for ; id != 0; id = w.path[id].from {
		steps = append(steps, w.path[id])
	}
	s := w.start()
	for i := len(steps) - 1; i >= 0; i-- {
		nth, before := uint32(0), s
		w.expand(before, func(m move, next S, _ string) {
			if nth == steps[i].nth {
				s = next
				trace = append(trace, w.describe(&before, m, &s))
			}
			nth++
		})
	}
	return trace
}

// report logs the result of a search, and fails the test if an invariant is
// broken.
func (f *finding) report(t *testing.T) {
	t.Helper()
	if t.Logf("%s: %v", t.Name(), f); f.broken != "" {
		t.Fail()
	}
}

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
