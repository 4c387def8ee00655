package replay

import (
	"context"
	"math"
	"time"
)

// Clock is the real time that a replay takes, as against the log's.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's error when that ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the machine's own.
type RealClock struct{}

// Now returns the time.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep waits.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pacer holds requests back until their moment, reckoned from the first one. A request out of order is already late.
type pacer struct {
	speed   float64 // seconds of the log in a second; 0 for no pacing
	clock   Clock
	running bool
	start   time.Time // when the first request was sent
	first   time.Time // and its moment in the log
}

func (p *pacer) wait(ctx context.Context, at time.Time) error {
	if p.speed == 0 {
		return nil
	}
	if !p.running {
		p.running, p.start, p.first = true, p.clock.Now(), at
	}
	offset := min(float64(at.Sub(p.first))/p.speed, math.MaxInt64/2) // a speed may be as small as it likes
	if offset <= 0 {
		return nil
	}
	if d := time.Duration(offset) - p.clock.Now().Sub(p.start); d > 0 {
		return p.clock.Sleep(ctx, d)
	}
	return nil
}
