package protocol

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// bucketPlan charges a token or a leaky bucket. The table compares the time at
// which the bucket is full again with the caller's clock alone, whatever other
// callers have charged or given back since the snapshot.
//
// Trade-off: DynamoDB has no maximum, so a full bucket and a draining one need
// different writes, and the snapshot decides which. Only the write for a
// draining bucket commutes with itself. A process whose snapshot wrongly shows
// the bucket full needs a second write.
type bucketPlan struct {
	prefix string
	need   int64 // nanoseconds by which the charge delays that time
	now    int64 // Unix nanoseconds
	// draining says that the snapshot shows the bucket not yet full. Then
	// latest is the latest such time, before the charge, that leaves room.
	draining bool
	latest   int64
}

func planBucket(s *Snapshot, i int, l *limit.Limit, now time.Time, cost int64) *bucketPlan {
	p := &bucketPlan{prefix: prefixOf(i), need: cost * int64(l.Interval()), now: now.UnixNano()}
	p.latest = p.now + int64(l.Drain()) - p.need
	p.draining = draining(&s.known()[i], now)
	return p
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

// draining reports whether a bucket is not full yet. One that was never charged
// has always been full.
func draining(state *limit.State, now time.Time) bool {
	full, _ := state.Full()
	return full > now.UnixNano()
}
