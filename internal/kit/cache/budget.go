package cache

import (
	"sync"
	"time"
)

// Budget bounds the loads that requests with made-up values cause: Burst at once,
// and PerSecond from then on. It starts full, and is safe for concurrent use.
type Budget struct {
	Burst, PerSecond float64

	mu    sync.Mutex
	spent float64
	at    time.Time // of spent
}

// Take spends one load. It reports false if there is none left.
func (b *Budget) Take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if passed := now.Sub(b.at); passed < -Every {
		b.at = now // the clock was set back
	} else if passed > 0 {
		b.spent, b.at = max(0, b.spent-passed.Seconds()*b.PerSecond), now
	}
	if b.spent > b.Burst-1 {
		return false
	}
	b.spent++
	return true
}

// Refund gives back a load that was taken.
func (b *Budget) Refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(0, b.spent-1)
}
