package protocol

import "github.com/slidegate/slidegate/internal/limit"

// minPruned is how many expired slots are worth a write of their own.
const minPruned = 8

// NeedsPruning reports whether expired slots fill more than half a window.
// Charges without a snapshot cannot name the slots that have expired, so an
// item that only such charges meet would grow without bound.
func (s *Snapshot) NeedsPruning(limits []limit.Limit) bool {
	for i := range limits {
		l := &limits[i]
		if expired := int64(len(s.unreachable(i, l))); expired >= max(minPruned, l.Slots()/2+1) {
			return true
		}
	}
	return false
}

// PlanPruning plans a write that only removes slots that no window reaches. The
// newest slot of a generation never falls, so they stay unreachable whatever
// has happened to the item since s.
func PlanPruning(s *Snapshot, limits []limit.Limit) *Update {
	u := newUpdate()
	u.require(u.name(attributeGeneration), "=", u.generation(s.Generation))
	removals := maxRemovals
	for i := range limits {
		slots := s.unreachable(i, &limits[i])
		slots = slots[:min(len(slots), removals)]
		removals -= len(slots)
		for _, slot := range slots {
			u.remove(slotName(prefixOf(i), slot))
		}
	}
	return u
}

// unreachable returns the slots that no window reaches that ends at the newest
// slot or later. A bucket has no slots, and a charge replaces a log by one
// without such.
func (s *Snapshot) unreachable(i int, l *limit.Limit) []int64 {
	h, _ := s.states[i].Newest()
	return slotsBefore(&s.states[i].Slots, h-l.Slots())
}
