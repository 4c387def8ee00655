package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// chargeLocally charges this process's share of the rule's limits; ok is false where that finds no room.
func (e *Engine) chargeLocally(ctx context.Context, now time.Time, set *rules.Set, v *Verdict) (ok bool) {
	v.charge.Limits = localShare(v.charge.Limits, v.charge.Costs, set.Instances)
	if err := e.opts.Local.Charge(ctx, now, &v.charge, &v.Verdict); err != nil {
		return false
	}
	if v.Allowed {
		v.charged = e.opts.Local
	}
	return true
}

// localShare returns what each of so many processes may let through on its own: at least one request.
func localShare(limits []limit.Limit, costs []int64, instances int) []limit.Limit {
	shares := slices.Clone(limits)
	for i := range shares {
		l := &shares[i]
		share := func(whole int64) int64 { return min(whole, max(1, costs[i], whole/int64(max(1, instances)))) }
		l.Capacity = share(l.Capacity)
		if l.Bucket() {
			// Rounded down, the rate may be so slow that the share of the burst would take too long to fill.
			l.Burst = min(share(l.Burst), int64(limit.MaxDrain/l.Interval()))
		}
	}
	return shares
}
