package sim

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Needless counts the denials of charges for which the exact log had room, by
// cause.
type Needless struct {
	// OldSnapshot counts snapshots that missed a refund or a deletion of the
	// last ten seconds.
	OldSnapshot int64 `json:"old_snapshot"`
	// FailedRead counts snapshots too old to deny that could not be read again.
	FailedRead int64 `json:"failed_read"`
	// LateClock counts denials by the window of a clock behind the newest slot.
	LateClock int64 `json:"late_clock"`
	// Unexplained counts all others. It must stay 0.
	Unexplained int64 `json:"unexplained"`
}

// deniedBySnapshot classifies a denial that made no call.
func (k *counter) deniedBySnapshot(w *world, now time.Time, c *limit.Charge) {
	w.report.Decisions++
	w.report.Denied++
	w.report.DeniedBySnapshot++
	switch {
	case !k.room(c, now):
	case w.now-k.lowered <= int64(limit.SnapshotAge+w.plan.patience()):
		w.report.Needless.OldSnapshot++
	case k.late(c, now):
		w.report.Needless.LateClock++
	default:
		k.unexplained(w)
	}
}

// denied classifies the denial of a request that may have read the table. The
// denial is right if any of its charges had no room.
func (r *request) denied() {
	w := r.world
	for _, p := range r.parts {
		if p.verdict.Allowed || r.environment.other != nil {
			continue
		}
		k := p.counter
		switch {
		case p.itemRead && !p.room, (!p.itemRead || w.plan.Gateways) && !k.room(&p.charge, r.now): // those of a gateway share answers
		case k.late(&p.charge, r.now):
			w.report.Needless.LateClock++
		case w.now-k.lowered <= int64(limit.SnapshotAge+w.plan.patience()):
			w.report.Needless.OldSnapshot++
		case !p.itemRead:
			w.report.Needless.FailedRead++
		default:
			k.unexplained(w)
		}
	}
}

// late reports whether a clock is behind the newest slot of a limit.
func (k *counter) late(c *limit.Charge, now time.Time) bool {
	for i := range c.Limits {
		if l := &c.Limits[i]; !l.Bucket() {
			if h, ok := k.charged[i].Newest(); ok && l.SlotAt(now) < h {
				return true
			}
		}
	}
	return false
}

func (k *counter) unexplained(w *world) {
	w.report.Needless.Unexplained++
	k.violated(w, "a charge was denied although there was room, for no known cause")
}

// patience is by how much true time may exceed a snapshot's ten seconds: clocks
// jump, and answers take time.
func (p *Plan) patience() time.Duration {
	return 2*max(p.Clocks.Error, p.Clocks.MaxJump) + p.Network.Deadline
}
