package engine

import (
	"context"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

// chargeLocally charges this process's share of the rule's limits. It returns
// false if the local store has no room for the key.
func (e *Engine) chargeLocally(ctx context.Context, now time.Time, set *rules.Set, v *Verdict) (ok bool) {
	v.Charge.Limits = localShare(v.Charge.Limits, v.Charge.Costs, set.Instances)
	if err := e.opts.Local.Charge(ctx, now, &v.Charge, &v.Verdict); err != nil {
		return false
	}
	if v.Allowed {
		v.charged = e.opts.Local
	}
	return true
}

// localShare returns what each of so many processes may let through on its own:
// at least one unit in a window, and enough for one request. A bucket gets that
// room from its burst, and refills at no more than its share.
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
		// A rate that is rounded down may be too slow to fill the share of the
		// burst.
		l.Burst = min(share(l.Burst, costs[i]), int64(limit.MaxDrain/l.Interval()))
	}
	return shares
}
