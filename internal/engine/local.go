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

// localShare returns what each of so many processes may let through on its own: at least one unit in a window, and room for
// one request. A bucket gives that room by what it holds, and refills at no more than its share.
func localShare(limits []limit.Limit, costs []int64, instances int) []limit.Limit {
	shares := slices.Clone(limits)
	for i := range shares {
		l := &shares[i]
		share := func(whole, least int64) int64 { return min(whole, max(1, least, whole/int64(max(1, instances)))) }
		if !l.Bucket() {
			l.Capacity = share(l.Capacity, costs[i])
			continue
		}
		l.Capacity = share(l.Capacity, 0)
		// Rounded down, the rate may be so slow that the share of the burst would take too long to fill.
		l.Burst = min(share(l.Burst, costs[i]), int64(limit.MaxDrain/l.Interval()))
	}
	return shares
}
