package limit

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// bucket is the state of the token and the leaky bucket: the theoretical
// arrival time of the generic cell rate algorithm, at which the bucket is full
// again or the queue empty. It is in Unix nanoseconds ^ math.MinInt64, so that
// the zero value, which has never been charged, was full at all times.
//
// Charges only move that time on, so a caller whose clock is behind sees too few
// units left and never too many.
type bucket int64

// NewBucket returns the state of a bucket that is full again at a time in Unix
// nanoseconds.
func NewBucket(full int64) (s State) {
	*s.bucket() = newBucket(full)
	return s
}

func newBucket(full int64) bucket { return bucket(full ^ math.MinInt64) }

// full returns when the bucket is full again, in Unix nanoseconds; ok is false
// for a bucket never charged.
func (b *bucket) full() (full int64, ok bool) { return int64(*b) ^ math.MinInt64, *b != 0 }

// Interval returns the time in which one unit refills, ⌈window / capacity⌉:
// rounding never speeds it up. 7 units in a minute refill one in 8,571,428,572
// ns.
func (l *Limit) Interval() time.Duration {
	return (l.Window + time.Duration(l.Capacity) - 1) / time.Duration(l.Capacity)
}

// TooFast reports whether whole nanoseconds are too coarse for the rate of a
// bucket: rounded up, they would make it more than 1% slower than it states.
// 10,000,000 units in a second never are, nor is 1,000,000,000, a unit in a
// nanosecond. 300,000,000 are: at 4 ns a unit, they would be 250,000,000.
func (l *Limit) TooFast() bool { return int64(l.Interval())*l.Capacity > int64(l.Window+l.Window/100) }

// Drain returns the time in which an empty bucket refills or a full queue
// drains: 20 s for a burst of 10 at one unit in 2 s.
func (l *Limit) Drain() time.Duration { return time.Duration(l.Burst) * l.Interval() }

// backlog returns the time from now until the bucket is full again.
func (b *bucket) backlog(now int64) time.Duration {
	full, charged := b.full()
	if !charged {
		return 0
	}
	return max(0, time.Duration(full-now))
}

func (b *bucket) decide(l *Limit, now, cost int64) Result {
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
func (b *bucket) take(l *Limit, now, cost int64) Result {
	if cost != 0 {
		full, _ := b.full()
		*b = newBucket(max(full, now) + cost*int64(l.Interval()))
	}
	return b.afterCharge(l, now, cost)
}

// afterCharge returns the result of a charge of cost that was made. Its delay
// is the backlog before it.
func (b *bucket) afterCharge(l *Limit, now, cost int64) Result {
	backlog := b.backlog(now)
	r := Result{Allowed: true, Remaining: max(0, int64((l.Drain()-backlog)/l.Interval())), Reset: backlog}
	if cost != 0 {
		r.Delay = l.delay(backlog - time.Duration(cost)*l.Interval())
	}
	return r
}

// Turn returns when the turn of a charge comes that leaves the bucket full at a
// time, both in Unix nanoseconds.
func (l *Limit) Turn(full, cost int64) int64 { return full - cost*int64(l.Interval()) }

// giveBack returns the turn of a charge that has left the bucket full at a time,
// unless the turn has come: it may be used. A turn with others behind it is noted
// in the room of older slots, and returns once those have been given back too.
func (s *State) giveBack(now time.Time, turn, full int64) {
	n := now.UnixNano()
	if latest, _ := s.bucket().full(); turn < n || full > latest {
		return
	}
	s.older.room = cmp.Or(s.older.room, &room{})
	// Of a turn, Number is when it leaves the bucket full, and Units when it comes.
	behind := func(g Slot, full int64) int { return cmp.Compare(g.Number, full) }
	past, _ := slices.BinarySearchFunc(s.older.slots, n, behind)
	given := s.older.slots[past:]
	i, _ := slices.BinarySearchFunc(given, full, behind)
	given = slices.Insert(given, i, Slot{full, turn})
	for last := len(given) - 1; last >= 0 && *s.bucket() == newBucket(given[last].Number); last-- {
		*s.bucket(), given = newBucket(given[last].Units), given[:last]
	}
	s.older.slots = given
}
