package dynamo

import (
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
)

// leastReported is the least correction that is reported as a step. Smaller ones
// are usual, and would fill the log.
const leastReported = 100 * time.Millisecond

// Clock is a machine's wall clock corrected by the Date field of DynamoDB's
// answers. Callers whose clocks differ by ε share a window that is 2ε shorter.
// A clock far ahead makes all others wait for its slot, so it must correct
// itself.
//
// The wall clock goes on while a Lambda is frozen, and the monotonic clock
// stands still. The Clock therefore reads the wall clock, and uses the
// monotonic one only to see that the wall clock was set back: time never passes
// slower than the process runs. A wall clock that was set forward looks like a
// thaw, until two answers contradict it.
//
// Example: a clock is 40 s ahead. The first answer contradicts it and changes
// nothing; the second sets the offset to between -40.5 and -39.5 s.
type Clock struct {
	machine clock.Source
	notice  func(clock.Step)

	mu     sync.Mutex
	anchor clock.Reading // steps of the wall clock count from here
	offset offset
}

// NewClock returns a clock that starts with no offset from the wall clock.
func NewClock(machine clock.Source) *Clock {
	return &Clock{machine: machine, notice: func(clock.Step) {}, anchor: machine()}
}

// OnStep sets the function to which the clock reports steps. Call it before the
// clock is shared.
func (c *Clock) OnStep(notice func(clock.Step)) { c.notice = notice }

// Now returns the corrected time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	r, back := c.read()
	now := r.Wall.Add(c.offset.estimate)
	c.mu.Unlock()
	c.report(back, 0)
	return now
}

// Confirmed reports whether the latest answer agreed with the corrected clock. It
// is false before the first answer.
func (c *Clock) Confirmed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.offset.confirmed
}

// Observe reports an answer that has just been received, by its Date and the
// time when its request was sent.
func (c *Clock) Observe(sent clock.Reading, date time.Time) {
	c.mu.Lock()
	received, back := c.read()
	before := c.offset.estimate
	// If the wall clock was set back during the call, the monotonic clock gives
	// the moment of sending.
	earliest := received.Wall.Add(sent.Mono - received.Mono)
	if sent.Wall.Before(earliest) {
		earliest = sent.Wall
	}
	c.offset.observe(earliest, received.Wall, date)
	c.anchor = received // answers correct the earlier steps that are too small to notice
	by := c.offset.estimate - before
	c.mu.Unlock()
	c.report(back, by)
}

// read reads the machine's clocks, and notices that the wall clock was set
// back. The offset grows by as much, so that the corrected time goes on. The
// caller holds the mutex: otherwise an older reading could overtake a newer
// one, and look like a step.
func (c *Clock) read() (r clock.Reading, back time.Duration) {
	r = c.machine()
	ahead := r.Ahead(c.anchor)
	if -clock.Noticeable < ahead && ahead <= 0 {
		return r, 0
	}
	c.anchor = r
	c.offset.confirmed = c.offset.confirmed && ahead < clock.Noticeable
	back = max(0, -ahead)
	c.offset.shift(back)
	return r, back
}

// report reports a wall clock that was set back, and a correction by an answer.
func (c *Clock) report(back, by time.Duration) {
	if back > 0 {
		c.notice(clock.Step{By: -back})
	}
	if by.Abs() >= leastReported {
		c.notice(clock.Step{By: by, Corrected: true})
	}
}
