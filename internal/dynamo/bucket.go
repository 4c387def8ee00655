package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// bucketWrite charges a token or a leaky bucket (docs/design.md, section 3.2). The time at which the bucket is full again
// only grows, so the table compares it with no more than the caller's clock, whoever else has charged since the view.
type bucketWrite struct {
	letter string
	need   int64 // nanoseconds by which the charge puts off the moment at which the bucket is full
	now    int64 // Unix nanoseconds
	// draining says that the view has seen the bucket not yet full; then latest is the latest moment, before the charge,
	// at which it may be full again.
	draining bool
	latest   int64
}

func planBucket(v *view, i int, l *limit.Limit, now time.Time, cost int64) *bucketWrite {
	w := &bucketWrite{letter: letter(i), need: cost * int64(l.Interval()), now: now.UnixNano()}
	w.latest = w.now + int64(l.Drain()) - w.need
	if v != nil {
		full, charged := v.states[i].Full()
		w.draining = charged && full > w.now
	}
	return w
}

func (w *bucketWrite) spell(x *expression, _ bool) {
	attribute := w.letter + attrFull
	full, now := x.name(attribute), x.number(w.letter+"t", w.now)
	if w.draining {
		x.require(full, ">", now, "AND", full, "<=", x.number(w.letter+"l", w.latest))
		x.set(attribute, full, "+", x.number(w.letter+"i", w.need))
		return
	}
	x.require("(attribute_not_exists("+full+") OR", full, "<=", now+")")
	x.set(attribute, now, "+", x.number(w.letter+"i", w.need))
}
