package limit

import (
	"math"
	"math/bits"
	"time"
)

// Bucket is the state of the token and the leaky bucket: the theoretical
// arrival time of the generic cell rate algorithm, at which the bucket is full
// again or the queue empty. The zero value has never been charged.
//
// That time only grows, so a caller whose clock is behind sees too few units
// left and never too many.
type Bucket struct {
	full int64 // Unix nanoseconds ^ math.MinInt64, so that the zero value was full at all times
}

// NewBucket returns a bucket that is full again at a time in Unix nanoseconds.
func NewBucket(full int64) Bucket { return Bucket{full ^ math.MinInt64} }

// Full returns when the bucket is full again, in Unix nanoseconds; ok is false
// for a bucket never charged.
func (b *Bucket) Full() (full int64, ok bool) { return b.full ^ math.MinInt64, b.full != 0 }

// Interval returns the time in which one unit refills, ⌈window / capacity⌉:
// rounding never speeds it up. 7 units in a minute refill one in 8,571,428,572
// ns.
func (l *Limit) Interval() time.Duration {
	return (l.Window + time.Duration(l.Capacity) - 1) / time.Duration(l.Capacity)
}

// Drain returns the time in which an empty bucket refills or a full queue
// drains: 20 s for a burst of 10 at one unit in 2 s.
func (l *Limit) Drain() time.Duration { return time.Duration(l.Burst) * l.Interval() }

// drains reports whether Drain is within MaxDrain.
func (l *Limit) drains() bool {
	hi, lo := bits.Mul64(uint64(l.Burst), uint64(l.Interval()))
	return hi == 0 && lo <= uint64(MaxDrain)
}

// backlog returns the time from now until the bucket is full again.
func (b *Bucket) backlog(now int64) time.Duration {
	full, charged := b.Full()
	if !charged {
		return 0
	}
	return max(0, time.Duration(full-now))
}

func (b *Bucket) decide(l *Limit, now, cost int64) Result {
	backlog := b.backlog(now)
	room := l.Drain() - backlog
	r := Result{Remaining: max(0, int64(room/l.Interval())), Reset: backlog}
	switch {
	case cost == 0:
		r.Allowed = true
	case cost > l.Burst:
		r.RetryAfter = Never
	case time.Duration(cost)*l.Interval() <= room:
		r.Allowed = true
		r.Delay = l.delay(backlog)
	default:
		r.RetryAfter = time.Duration(cost)*l.Interval() - room
	}
	return r
}

// delay returns how long a request waits behind a backlog. A token bucket lets
// it go at once.
func (l *Limit) delay(backlog time.Duration) time.Duration {
	if l.Algorithm == LeakyBucket {
		return backlog
	}
	return 0
}

// take charges cost units, at most Burst.
func (b *Bucket) take(l *Limit, now, cost int64) Result {
	if cost != 0 {
		full, _ := b.Full()
		*b = NewBucket(max(full, now) + cost*int64(l.Interval()))
	}
	return b.afterCharge(l, now, cost)
}

// afterCharge returns the result of a charge of cost that was made. Its delay
// is the backlog before it.
func (b *Bucket) afterCharge(l *Limit, now, cost int64) Result {
	backlog := b.backlog(now)
	r := Result{Allowed: true, Remaining: max(0, int64((l.Drain()-backlog)/l.Interval())), Reset: backlog}
	if cost != 0 {
		r.Delay = l.delay(backlog - time.Duration(cost)*l.Interval())
	}
	return r
}
