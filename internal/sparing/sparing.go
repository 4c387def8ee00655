// Package sparing keeps what happens to every request from being told for every request: in an outage, or a flood, a line for
// each would cost more than the requests.
package sparing

import (
	"sync"
	"time"
)

// Every is how often the same thing is told.
const Every = 10 * time.Second

// Line is told of at once, and then once in Every, with how often it was held back. The zero value is ready. It is safe for
// concurrent use.
type Line struct {
	mu   sync.Mutex
	last time.Time
	held int
}

// Due reports whether the line is to be told now, and how often it was held back since it last was. A moment a little before
// the last one is as good as one after it, because requests run side by side; but a clock that was put back holds nothing back.
func (l *Line) Due(now time.Time) (held int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last).Abs() < Every {
		l.held++
		return 0, false
	}
	held, l.last, l.held = l.held, now, 0
	return held, true
}
