package sim

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// viewLife is how long a store lets a view deny on its own (docs/design.md, section 3.1).
const viewLife = 10 * time.Second

// Needless counts the denials of charges for which the exact log had room, by why that was.
type Needless struct {
	// OldView had not seen yet that units were given back or the item deleted, ten seconds ago at most.
	OldView int64 `json:"old_view"`
	// FailedRead had too old a view, and the table could not be read.
	FailedRead int64 `json:"failed_read"`
	// LateClock was denied by the window of a clock behind the newest slot.
	LateClock int64 `json:"late_clock"`
	// Unexplained is none of these.
	Unexplained int64 `json:"unexplained"`
}

// deniedByView judges a denial for which nobody was asked.
func (k *counter) deniedByView(w *world, now time.Time, c *limit.Charge) {
	switch {
	case !room(k.charged, c, now):
	case w.now-k.fell <= int64(viewLife+w.plan.patience()):
		w.report.Needless.OldView++
	case k.late(c, now):
		w.report.Needless.LateClock++
	default:
		k.unexplained(w)
	}
}

// denied judges the denial of a request that may have asked the table. If some charge had no room it is none too many.
func (r *request) denied() {
	w := r.world
	for _, p := range r.parts {
		if p.verdict.Allowed || r.environment.other != nil {
			continue
		}
		k := p.counter
		switch {
		case p.asked && !p.room, !p.asked && !room(k.charged, &p.charge, r.now):
		case k.late(&p.charge, r.now):
			w.report.Needless.LateClock++
		case w.now-k.fell <= int64(viewLife+w.plan.patience()):
			w.report.Needless.OldView++
		case !p.asked:
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
	k.violated(w, "a charge was denied for which there was room, and nothing explains it")
}

// patience is how far from true time the ten seconds of a view may be reckoned: by clocks that jump, and while an answer is
// on its way.
func (p *Plan) patience() time.Duration {
	return 2*max(p.Clocks.Error, p.Clocks.Most) + p.Network.Deadline
}
