package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// keep caches the snapshot of an item from an answer of DynamoDB, and returns
// it; nil if there is no item. It fails with ErrForeign if the protocol cannot
// have written the item.
func (s *counters) keep(c *limit.Charge, item protocol.Item, now time.Time) (*protocol.Snapshot, error) {
	if len(item) == 0 {
		s.snapshots.cache.Remove(c.Key) // the counter is gone, so the next charge creates it
		return nil, nil
	}
	snapshot, err := protocol.Read(item, c.Limits, now)
	if err != nil {
		return nil, err
	}
	s.snapshots.put(c.Key, snapshot)
	return s.sure(snapshot, now), nil
}

// latest returns the latest snapshot of the charge's counter; nil for none.
func (s *counters) latest(c *limit.Charge, now time.Time) *protocol.Snapshot {
	return s.sure(s.snapshots.get(c), now)
}

// sure returns the snapshot as a clock that may not be confirmed shows it.
func (s *counters) sure(snapshot *protocol.Snapshot, now time.Time) *protocol.Snapshot {
	if len(snapshot.Holds().All()) == 0 || s.opts.Confirmed == nil || s.opts.Confirmed() && !now.After(s.opts.Wall()) {
		return snapshot
	}
	return snapshot.Unsure()
}

// evaluate decides the charge on a snapshot alone; nil is a counter never
// charged. It fails with ErrAhead if the clock is confirmed and the snapshot is
// far ahead of it.
func (s *counters) evaluate(snapshot *protocol.Snapshot, c *limit.Charge, now time.Time, v *limit.Verdict) error {
	if s.opts.Confirmed != nil && s.opts.Confirmed() && snapshot.FarAhead(c, now) {
		return ErrAhead
	}
	snapshot.Decide(c, now, v)
	return nil
}

// tooOld reports whether a snapshot does not allow a charge, or not its hold, and is
// too old to say so. It is right still, unless units were refunded, holds have
// ended or the counter was reset since.
func tooOld(snapshot *protocol.Snapshot, c *limit.Charge, now time.Time, err error, v *limit.Verdict) bool {
	return (err != nil || !v.Allowed || v.ByHolds) && snapshot != nil && !snapshot.Fresh(c, now, v)
}
