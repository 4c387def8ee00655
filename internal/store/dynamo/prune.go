package dynamo

import (
	"context"
	"sync"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// pruning is a write that is due, and that only removes expired slots. A store
// remembers one at most.
type pruning struct {
	charge   *limit.Charge // its key and limits
	snapshot *protocol.Snapshot
}

// planPruning remembers to remove expired slots after a charge that had no
// snapshot to name them by. The write waits for the next request, because a
// Lambda does nothing between requests. A charge with a snapshot has just removed
// them.
func (s *counters) planPruning(c *limit.Charge, after *protocol.Snapshot, hadSnapshot bool) {
	due := s.pruning.Load()
	switch {
	case !hadSnapshot && after.NeedsPruning(c.Limits):
		s.pruning.Store(&pruning{&limit.Charge{Key: c.Key, Limits: c.Limits}, after})
	case hadSnapshot && due != nil && due.charge.Key == c.Key:
		s.pruning.CompareAndSwap(due, nil)
	}
}

// pruneOther sends the pruning that is due, while the caller serves a request for
// another key. The function that it returns waits for the answer. A failure
// loses nothing: the next charge with a snapshot removes the slots.
func (s *counters) pruneOther(ctx context.Context, key string) (wait func()) {
	due := s.pruning.Load()
	if due == nil || due.charge.Key == key || !s.pruning.CompareAndSwap(due, nil) {
		return func() {}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, _ = s.send(ctx, due.snapshot.ReadAt, due.charge, protocol.PlanPruning(due.snapshot, due.charge.Limits))
	})
	return wg.Wait
}
