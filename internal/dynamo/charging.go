package dynamo

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo/protocol"
	"github.com/slidegate/slidegate/internal/limit"
)

// charging is a charge that its snapshot does not deny, or not any more.
type charging struct {
	*Store
	ctx      context.Context // the caller's
	charge   *limit.Charge
	now      time.Time
	verdict  *limit.Verdict
	snapshot *protocol.Snapshot
	stale    bool // the first snapshot denies, and is too old to
	attempts int  // made before
	turn     bool // whether the caller has the turn of its key

	called chan *group // of a caller in line: its group, or nil for its turn
	number int         // in the group
}

// run makes the charge, or finds that it is denied.
func (x *charging) run() error {
	defer func() {
		if x.turn {
			x.turns.pass(x.charge.Key)
		}
	}()
	for ; x.attempts < protocol.MaxAttempts; x.attempts++ {
		g, denied, err := x.await()
		if denied || err != nil {
			return err
		}
		after, o, err := x.write(g)
		if err != nil || o == written {
			return err
		}
		if o != transactionConflict {
			x.snapshot = after
		}
		if denied, err := x.decide(); denied || err != nil {
			return err
		}
	}
	return ErrContended
}

// await waits for the caller's turn, and returns the group that its charge is
// in; nil if it is alone. The write before may have left no room.
func (x *charging) await() (g *group, denied bool, err error) {
	waited := false
	if !x.turn && !x.turns.enter(x) {
		if g, err = x.turns.wait(x); g != nil || err != nil {
			return g, false, Translate(err, x.table)
		}
		if latest := x.snapshots.get(x.charge); latest != nil {
			x.snapshot = latest
		}
		waited = true
	}
	if waited || x.stale {
		if denied, err = x.decide(); denied || err != nil {
			return nil, denied, err
		}
	}
	if x.turn {
		g = x.turns.gather(x)
	}
	if g != nil {
		go x.writeAll(g)
	}
	return g, false, nil
}

// write makes a write for this charge alone, or waits for that of its group.
func (x *charging) write(g *group) (after *protocol.Snapshot, o outcome, err error) {
	if g == nil {
		return x.writeOne()
	}
	if err := g.wait(x.ctx); err != nil {
		return nil, 0, Translate(err, x.table)
	}
	if g.err == nil && g.outcome == written {
		*x.verdict = g.verdicts[x.number]
	}
	return g.after, g.outcome, g.err
}

func (x *charging) writeOne() (after *protocol.Snapshot, o outcome, err error) {
	plan := protocol.PlanCharge(x.snapshot, x.charge, x.now, x.opts.Wall(), x.attempts == 0)
	after, o, err = x.send(x.ctx, x.now, x.charge, plan.Update(x.opts.NewGeneration()))
	if err != nil || o != written {
		return after, o, err
	}
	if err = after.Verify(x.charge, x.now); err == nil {
		x.planPruning(x.charge, after, x.snapshot != nil)
		after.Admit(x.charge, x.now, x.verdict)
	}
	return after, o, err
}

// decide reports whether the snapshot denies the charge now.
func (x *charging) decide() (denied bool, err error) {
	x.snapshot, err = x.Store.decide(x.ctx, x.now, x.charge, x.snapshot, x.verdict)
	return err == nil && !x.verdict.Allowed, err
}
