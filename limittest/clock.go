package limittest

import (
	"sync"
	"time"
)

// Clock is a clock for [slidegate.WithClock] that stands still until a test
// moves it.
//
// [slidegate.Limiter.Wait] sleeps by the machine's time, so a Clock never ends
// it. Test it in a bubble of testing/synctest instead.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the clock's time. The method value is what WithClock takes:
//
//	slidegate.WithClock(clock.Now)
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to a time, which may be earlier.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves the clock by a time; a negative one moves it back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
