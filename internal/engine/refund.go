package engine

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// correctionTimeout bounds, in real time, each correction of a charge.
	correctionTimeout = 250 * time.Millisecond
	// maxSettlement is the most units that a correction may add to a charge.
	maxSettlement = limit.MaxCapacity
)

// refund returns what the rules took of a request that is denied after all. A
// bucket or a log cannot refund; its charge stays, and so does one whose store
// fails.
func (e *Engine) refund(ctx context.Context, now time.Time, vs []Verdict) {
	e.correct(ctx, now, vs, "refund", (*Verdict).refundDeltas)
}

// refundDeltas returns the deltas that undo the charge, as far as its
// algorithms can; nil for none.
func (v *Verdict) refundDeltas() (deltas []int64) {
	if v.charged == nil {
		return nil
	}
	for i, cost := range v.Charge.Costs {
		if cost == 0 || !v.Charge.Limits[i].Correctable() {
			continue
		}
		if deltas == nil {
			deltas = make([]int64, len(v.Charge.Costs))
		}
		deltas[i] = -cost
	}
	return deltas
}
