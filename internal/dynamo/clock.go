package dynamo

import (
	"sync"
	"time"
)

// Clock is a local clock corrected by the Date field of DynamoDB's answers.
// Callers whose clocks differ by ε share a window that is 2ε shorter. A clock
// far ahead makes all others wait for its slot, so it must correct itself.
//
// Date has whole seconds: the server's time lies in [Date, Date + 1 s). The
// offset changes only if two answers in a row contradict the corrected clock,
// so a healthy clock is never touched.
//
// Example: a clock is 40 s ahead. The first answer contradicts it and changes
// nothing; the second sets the offset to about -40 s.
type Clock struct {
	wall func() time.Time

	mu        sync.RWMutex
	offset    time.Duration
	misses    int
	confirmed bool
}

// NewClock returns a clock that starts with no offset from wall.
func NewClock(wall func() time.Time) *Clock { return &Clock{wall: wall} }

// Now returns the corrected time, without the monotonic reading, which may
// stand still while a Lambda is frozen.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.wall().Add(c.offset).Round(0)
}

// Confirmed reports whether the latest answer agreed with the corrected clock.
func (c *Clock) Confirmed() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.confirmed
}

// Observe reports one answer: when its request was sent and the answer
// received, by the local clock, and its Date.
func (c *Clock) Observe(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest := sent.Add(c.offset - time.Second)
	latest := received.Add(c.offset + time.Second)
	if latest.Before(date) || !earliest.Before(date.Add(time.Second)) {
		if c.misses++; c.misses < 2 {
			c.confirmed = false
			return
		}
		midpoint := sent.Add(received.Sub(sent) / 2)
		c.offset = date.Add(500 * time.Millisecond).Sub(midpoint)
	}
	c.misses, c.confirmed = 0, true
}
