package sim

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// deniedBySnapshot classifies a denial that made no call.
func (k *counter) deniedBySnapshot(w *world, now time.Time, c *limit.Charge) {
	w.count("decisions", 1)
	w.count("denied", 1)
	w.count("denied by a snapshot", 1)
	switch {
	case !k.room(c, now):
	case w.now-k.lowered <= int64(limit.SnapshotAge+w.plan.excess()):
		w.count("needless, an old snapshot", 1)
	case k.late(c, now):
		w.count("needless, a late clock", 1)
	default:
		k.unexplained(w)
	}
}

// denied classifies the denial of a request that may have read the table. The
// denial is right if any of its charges had no room.
func (r *request) denied() {
	w := r.world
	for _, p := range r.parts {
		if p.verdict.Allowed {
			continue
		}
		k := p.counter
		switch {
		case p.itemRead && !p.room, (!p.itemRead || w.plan.Gateways) && !k.room(&p.charge, r.now): // those of a gateway share answers
		case k.late(&p.charge, r.now):
			w.count("needless, a late clock", 1)
		case w.now-k.lowered <= int64(limit.SnapshotAge+w.plan.excess()):
			w.count("needless, an old snapshot", 1)
		case !p.itemRead:
			w.count("needless, a failed read", 1)
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
	w.count("needless, unexplained", 1)
	k.violated(w, "a charge was denied although there was room, for no known cause")
}

// excess is by how much true time may exceed a snapshot's ten seconds: clocks
// jump, and answers take time.
func (p *Plan) excess() time.Duration {
	return 2*max(p.Clocks.Error, p.Clocks.MaxJump) + p.Network.Deadline
}
