package dynamo

import (
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

// interval contains the offset of a wall clock: low <= offset <= high. The
// offset is what to add to the wall clock for DynamoDB's time.
type interval struct {
	low, high time.Duration
	answers   int // that agree; 0 for an interval that does not exist
}

// intervalOf returns what one answer says about the offset. DynamoDB's time was
// in [date, date+1s) at some moment between sending and receiving.
//
// Example: sent at 10.30 s, received at 10.31 s, dated 9 s. Then DynamoDB's
// clock is behind by 0.3 s to 1.31 s: [-1.31 s, -0.3 s].
func intervalOf(sent, received, date time.Time) interval {
	i := interval{low: date.Sub(received), high: date.Add(time.Second).Sub(sent), answers: 1}
	i.age(received.Sub(sent))
	return i
}

// contains reports whether the answers allow this offset.
func (i interval) contains(offset time.Duration) bool { return i.low <= offset && offset <= i.high }

// narrow intersects the interval with an answer. It reports false, and changes
// nothing, if they contradict each other.
func (i *interval) narrow(answer interval) bool {
	low, high := max(i.low, answer.low), min(i.high, answer.high)
	if i.answers == 0 || low >= high {
		return false
	}
	*i = interval{low, high, i.answers + 1}
	return true
}

// age widens the interval by what the clocks may have drifted apart.
func (i *interval) age(elapsed time.Duration) {
	drift := clock.Drift(elapsed)
	i.low -= drift
	i.high += drift
}

// shift moves the interval with a wall clock that was set back.
func (i *interval) shift(by time.Duration) {
	i.low += by
	i.high += by
}

// clearlyWrong is an error of a machine's clock that differences between
// DynamoDB's servers do not explain.
const clearlyWrong = time.Second / 2

// offset estimates the offset of a wall clock from the dates of answers, as NTP
// selects among servers: it intersects the intervals that the answers allow.
//
// Answers that come early in DynamoDB's second bound the offset from below, and
// late ones from above. n answers leave an interval of about 2/(n+1) s and a
// round trip. An estimate within it stays, so a healthy clock is never touched.
// Any other moves to the nearest end of the interval, and no further: the clocks
// of DynamoDB's servers differ a little, so that their answers contradict each
// other at times, and the middle of a new interval may be half a second away.
//
// Only the first correction of a clock that is clearly wrong goes to the middle.
// The answers to a burst come in one part of DynamoDB's second, and leave an
// interval of a second. Its nearest end differs by a second between a clock that
// is ahead and one that is behind; its middle is the same time for both.
//
// An answer that contradicts the interval may be odd, or one of the clocks has
// stepped. It starts a rival interval. A second answer that contradicts the
// interval and agrees with the rival puts the rival in its place. One that
// agrees with the interval and contradicts the rival removes the rival.
type offset struct {
	estimate  time.Duration
	interval  interval
	rival     interval
	at        time.Time // of the latest answer, by the wall clock
	confirmed bool      // the latest answer agrees with the estimate
}

// observe adds an answer.
func (o *offset) observe(sent, received, date time.Time) {
	if o.interval.answers > 0 {
		o.interval.age(received.Sub(o.at))
		o.rival.age(received.Sub(o.at))
	}
	o.at = received
	agreed := o.add(intervalOf(sent, received, date))
	if o.interval.answers >= 2 {
		nearest := min(max(o.estimate, o.interval.low), o.interval.high)
		if o.estimate == 0 && nearest.Abs() > clearlyWrong {
			nearest = o.interval.low + (o.interval.high-o.interval.low)/2
		}
		o.estimate = nearest
	}
	o.confirmed = agreed && o.interval.contains(o.estimate)
}

// add narrows the interval and its rival by an answer, and reports whether the
// interval agrees with it now.
func (o *offset) add(answer interval) bool {
	if o.interval.answers == 0 {
		o.interval = answer
		return true
	}
	agrees, withRival := o.interval.narrow(answer), o.rival.narrow(answer)
	switch {
	case agrees && !withRival:
		o.rival = interval{}
	case !agrees && withRival:
		o.interval, o.rival = o.rival, interval{}
	case !agrees:
		o.rival = answer
		return false
	}
	return true
}

// shift follows a wall clock that was set back by so much.
func (o *offset) shift(by time.Duration) {
	o.estimate += by
	o.interval.shift(by)
	o.rival.shift(by)
	o.at = o.at.Add(-by)
}
