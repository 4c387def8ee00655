package engine

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// giveBackTimeout bounds, in real time, each correction of what a request took.
	giveBackTimeout = 250 * time.Millisecond
	// mostSettled is the most that a correction may charge more.
	mostSettled = limit.MaxCapacity
)

// giveBack returns what the rules have taken of a request that is not let through. What a bucket or a log took cannot be
// returned and stays charged; so does what a store fails to take back.
func (e *Engine) giveBack(ctx context.Context, now time.Time, vs []Verdict) {
	e.correct(ctx, now, vs, "give back", (*Verdict).returns)
}

// returns says how to correct the charge so that it took nothing, as far as that can be; nil if there is nothing to do.
func (v *Verdict) returns() (deltas []int64) {
	if v.charged == nil {
		return nil
	}
	for i, cost := range v.charge.Costs {
		if cost == 0 || !v.charge.Limits[i].Correctable() {
			continue
		}
		if deltas == nil {
			deltas = make([]int64, len(v.charge.Costs))
		}
		deltas[i] = -cost
	}
	return deltas
}
