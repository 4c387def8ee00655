package replay

import (
	"context"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/clock"
)

// pacer delays requests until their time after the first one. A request out of
// order is late already and goes on at once.
type pacer struct {
	speed float64   // seconds of the log in a second; 0 for no pacing
	start time.Time // when the first request was sent
	first time.Time // and its time in the log
}

// wait fails if the context ends first.
func (p *pacer) wait(ctx context.Context, at time.Time) error {
	if p.speed == 0 {
		return nil
	}
	if p.start.IsZero() {
		p.start, p.first = time.Now(), at
	}
	offset := min(float64(at.Sub(p.first))/p.speed, math.MaxInt64/2) // any speed above 0 is valid
	return clock.Sleep(ctx, time.Until(p.start.Add(time.Duration(offset))))
}
