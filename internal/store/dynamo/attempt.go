package dynamo

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// attempt is a charge that needs a write, because no snapshot denies it.
type attempt struct {
	*counters
	ctx      context.Context // the caller's
	charge   *limit.Charge
	now      time.Time
	verdict  *limit.Verdict
	snapshot *protocol.Snapshot // that the next write is planned from; nil for none
	decided  bool               // the snapshot is known to allow the charge
	refusals int                // writes that DynamoDB refused
	answered bool               // the snapshot is the answer to the last of these, or to a read
}

// refresh takes over the latest snapshot of the process, which other attempts
// may have brought while this one waited.
func (a *attempt) refresh() {
	if latest := a.latest(a.charge, a.now); latest != nil {
		a.snapshot = latest
	}
	a.decided, a.answered = false, false
}

// decide reports whether no write is needed: the snapshot denies the charge, or the
// answer to a call shows that it was made before, or there is nothing to take. The
// verdict says so. An older snapshot does not show whether a hold is still open. decide
// reads a snapshot too old to deny again.
func (a *attempt) decide() (done bool, err error) {
	if a.decided {
		return false, nil
	}
	before := a.snapshot
	a.snapshot, err = a.prepare(a.ctx, a.now, a.charge, a.snapshot, a.verdict)
	if err != nil {
		return false, err
	}
	a.decided, a.answered = a.verdict.Allowed, a.answered || a.snapshot != before
	a.verdict.Snapshot = !a.decided && a.snapshot == before && a.refusals == 0
	return !a.decided || a.answered && !a.charge.Takes(a.verdict), nil
}

// write makes the charge by a write of its own, and fills in the verdict once the
// write has succeeded. It fails with ErrForeign if the answer shows an item that
// the write cannot have left.
func (a *attempt) write() (outcome, error) {
	plan := protocol.PlanCharge(a.snapshot, a.charge, a.now, a.opts.Wall(), a.refusals == 0)
	after, o, err := a.send(a.ctx, a.now, a.charge, plan.Update(a.opts.NewGeneration()))
	switch {
	case err != nil:
	case o != written:
		a.refused(after, o)
	default:
		if err = after.Verify(a.charge, a.now); err == nil {
			a.planPruning(a.charge, after, a.snapshot != nil)
			after.Admit(a.charge, a.now, a.verdict)
		}
	}
	return o, err
}

// refused takes over the snapshot of a refusal. A transaction hides the item, so
// the snapshot before stays.
func (a *attempt) refused(after *protocol.Snapshot, o outcome) {
	if o != transactionConflict {
		a.snapshot, a.answered = after, true
	}
	a.decided = false
}
