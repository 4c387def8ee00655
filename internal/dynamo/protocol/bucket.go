package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// bucketPlan charges a token or a leaky bucket. The time at which the bucket is
// full again only grows, so the table compares it with the caller's clock
// alone, whatever other callers have charged since the snapshot.
type bucketPlan struct {
	prefix string
	need   int64 // nanoseconds by which the charge delays that time
	now    int64 // Unix nanoseconds
	// draining says that the bucket is taken to be not yet full. Then latest is
	// the latest such time, before the charge, that leaves room.
	draining bool
	latest   int64
}

func planBucket(s *Snapshot, i int, l *limit.Limit, now time.Time, cost int64, first bool) *bucketPlan {
	p := &bucketPlan{prefix: prefixOf(i), need: cost * int64(l.Interval()), now: now.UnixNano()}
	p.latest = p.now + int64(l.Drain()) - p.need
	p.draining = draining(&s.known()[i], now) || first && s.guess(i)
	return p
}

// guess reports whether bucket i is taken to be draining although the snapshot
// shows it full by now. The two writes of a bucket exclude each other, and only
// the one for a draining bucket commutes with itself. So processes that share a
// busy bucket would keep failing by snapshots of their own last charges. A wrong
// guess costs one refused write: the conditions are of the item as it is.
func (s *Snapshot) guess(i int) bool { return s != nil && s.busy[i] > 0 }

// convinced is how many wrong guesses end the guessing. A busy bucket is full for
// a moment now and then.
const convinced = 2

// Guess carries over to s, the state that a write planned from another snapshot
// has left or met, what the next charge guesses. A refusal or a read shows
// whether others keep the bucket draining: those who have charged it since the
// other snapshot. Call it before s is shared.
func (s *Snapshot) Guess(before *Snapshot, now time.Time, refused bool) {
	for i := range s.states {
		if before.guess(i) {
			s.busy[i] = before.busy[i]
		}
		drains := draining(&s.states[i], now)
		switch {
		case !refused:
		case drains && (before == nil || s.totals[i] > before.totals[i]):
			s.busy[i] = convinced
		case !drains && s.busy[i] > 0:
			s.busy[i]--
		}
	}
}

func (p *bucketPlan) addTo(u *Update, _ bool) {
	attribute := p.prefix + attributeFull
	full, now := u.name(attribute), u.number(p.prefix+"t", p.now)
	if p.draining {
		u.require(full, ">", now, "AND", full, "<=", u.number(p.prefix+"l", p.latest))
		u.set(attribute, full, "+", u.number(p.prefix+"i", p.need))
		return
	}
	u.require("(attribute_not_exists("+full+") OR", full, "<=", now+")")
	u.set(attribute, now, "+", u.number(p.prefix+"i", p.need))
}
