package dynamo_test

import (
	"testing"

	dm "github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// TestSafetyTerms runs a trace for each term of the protocol twice. With the
// protocol as it is, no window of two slots may exceed the capacity. With the
// term broken on the way to the engine, the same trace must exceed it. The
// traces are the shortest counterexamples that the exploration of small systems
// finds.
func TestSafetyTerms(t *testing.T) {
	tests := map[string]struct {
		capacity int64
		broken   dm.Mutation
		trace    func(w *world)
	}{
		"time never runs backwards: h <= :q": {3, dm.AnyOrder, func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 2, 1)
			w.try("late", 0, 1)
		}},
		"a snapshot writes to its own generation: e = :e": {1, dm.AnyGeneration, func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 2, 1)
			w.try("A", 2, 1)
		}},
		"a snapshot never creates an item": {1, dm.CreateFromSnapshot, func(w *world) {
			w.try("A", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.reset()
			w.try("A", 1, 1)
			w.try("B", 1, 1)
		}},
		"the ceiling: C <= :B": {2, dm.AnyTotal, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the ceiling, one unit looser": {2, dm.OneUnitTooMany, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"the credit covers the cost: f >= :c": {2, dm.CreditOfOne, func(w *world) {
			w.try("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"the credit is for one capacity: n = :N": {1, dm.AnyCapacity, func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.try("B", 0, 1)
		}},
		"the credit is computed from the total now": {3, dm.CreditOfEmptyWindow, func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 1, 1)
			w.try("B", 1, 1)
		}},
		"without a snapshot the credit shrinks": {2, dm.FreeColdCharge, func(w *world) {
			w.lost("A", 0, 1)
			w.try("B", 0, 2)
		}},
		"without a snapshot the credit only shrinks": {2, dm.FullCreditWhenCold, func(w *world) {
			w.lost("A", 0, 1)
			w.lost("B", 0, 1)
			w.try("C", 0, 1)
		}},
		"drawing on the credit leaves its capacity": {1, dm.CapacityOfIdleCharge, func(w *world) {
			w.limit.Capacity = 3
			w.try("A", 0, 1)
			w.limit.Capacity = 1
			w.lost("A", 2, 1)
			w.try("A", 2, 1)
		}},
		"in a slot that the snapshot shows, the credit shrinks": {2, dm.FreeIdleCharge.InKnownSlots(), func(w *world) {
			w.try("A", 0, 1)
			w.try("A", 0, 1)
			w.try("B", 0, 1)
		}},
		"in a slot that the snapshot shows, the ceiling": {2, dm.AnyTotal.InKnownSlots(), func(w *world) {
			w.try("A", 0, 1)
			w.lost("A", 0, 1)
			w.try("A", 0, 1)
		}},
		"no slot that counts is removed": {3, dm.RemovePrevious, func(w *world) {
			w.try("A", 0, 2)
			w.try("A", 1, 1)
			w.try("A", 1, 1)
		}},
		"refund: in its own generation, e = :e": {1, dm.AnyGeneration, func(w *world) {
			w.try("A", 0, 1)
			w.reset()
			w.try("B", 0, 1)
			w.settle("A", w.last["A"], 0, -1)
			w.try("C", 0, 1)
		}},
		"refund: the total stays": {3, dm.LowerTotal, func(w *world) {
			w.try("A", 0, 2)
			w.try("B", 0, 0) // zero cost: reads the item
			w.settle("A", w.last["A"], 1, -2)
			w.try("A", 2, 3)
			w.try("B", 2, 1)
		}},
		"charging more lowers the credit": {2, dm.FreeExtraCharge, func(w *world) {
			w.try("A", 0, 1)
			w.settle("A", w.last["A"], 0, 1)
			w.try("B", 0, 1)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sound := newWorld(t, test.capacity, 1)
			if test.trace(sound); sound.most() > test.capacity {
				t.Errorf("%d units in a window, capacity %d", sound.most(), test.capacity)
			}
			mutant := newWorld(t, test.capacity, 1)
			mutant.mutate = test.broken
			if test.trace(mutant); mutant.most() <= test.capacity {
				t.Errorf("the trace does not detect the broken term: %d units in a window, capacity %d", mutant.most(), test.capacity)
			}
		})
	}
}
