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
// guess costs a refused write, or two if another caller charges in between: the
// conditions are of the item as it is.
func (s *Snapshot) guess(i int) bool { return s != nil && s.busy[i] >= busyEnough }

// A bucket is busy by how often others have kept it draining lately, less how
// often it was full, from 0 to mostBusy. Callers who come at random find a bucket
// under half load full every other time, where guesses would cost as much as
// they save. So only a bucket that is seldom full is busy enough. A wrong guess
// counts twice: the refusal has met a full bucket, and so has the write after it.
const mostBusy, busyEnough = 7, 6

// bucketState says how a call has met a bucket.
type bucketState uint8

const (
	unknownBucket bucketState = iota
	fullBucket
	drainingBucket // by charges of others
)

// Guess carries over to s, the state that a call planned from another snapshot
// has left or met, what the next charge guesses. written is the update that has
// left it, nil for a refusal or a read. Call it before s is shared.
func (s *Snapshot) Guess(before *Snapshot, now time.Time, written *Update) {
	for i := range s.states {
		if before != nil {
			s.busy[i] = before.busy[i]
		}
		switch s.met(i, before, now, written) {
		case drainingBucket:
			s.busy[i] = min(s.busy[i]+1, mostBusy)
		case fullBucket:
			s.busy[i] = max(s.busy[i], 1) - 1
		}
	}
}

// met returns how the call has met bucket i. If the snapshot before shows it
// draining, the process's own charges may be all there are.
func (s *Snapshot) met(i int, before *Snapshot, now time.Time, written *Update) bucketState {
	switch {
	case written != nil && (before == nil || !draining(&before.states[i], now)):
		return written.buckets[i]
	case written != nil:
		return unknownBucket
	case !draining(&s.states[i], now):
		return fullBucket
	case before == nil || s.totals[i] > before.totals[i]:
		return drainingBucket
	}
	return unknownBucket
}

func (p *bucketPlan) addTo(u *Update, _ bool) {
	attribute := p.prefix + attributeFull
	full, now := u.name(attribute), u.number(p.prefix+"t", p.now)
	met := &u.buckets[p.prefix[0]-'a']
	if p.draining {
		*met = drainingBucket
		u.require(full, ">", now, "AND", full, "<=", u.number(p.prefix+"l", p.latest))
		u.set(attribute, full, "+", u.number(p.prefix+"i", p.need))
		return
	}
	*met = fullBucket
	u.require("(attribute_not_exists("+full+") OR", full, "<=", now+")")
	u.set(attribute, now, "+", u.number(p.prefix+"i", p.need))
}
