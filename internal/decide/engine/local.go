package engine

import (
	"context"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
)

// LocalError is the failure of a store while this process counts its own shares
// of a rule's limits instead, for a request of these costs.
type LocalError struct {
	error
	Shares []limit.Limit
	Costs  []int64
}

// Unwrap returns the store's error.
func (e *LocalError) Unwrap() error { return e.error }

// chargeLocally charges this process's share of the rule's limits. It returns
// false if the local store has no room for the key.
func (c *charging) chargeLocally(ctx context.Context, v *Verdict) (ok bool) {
	v.Charge.Checked = false
	if err := c.opts.Local.Charge(ctx, c.now, &v.Charge, &v.Verdict); err != nil {
		return false
	}
	if v.Allowed {
		v.charged = chargedLocally
	}
	return true
}

// LocalShares returns the limits of one process if the given number of instances
// share them. Each allows at least one unit in a window, and at least one
// request. A bucket gets the room for that request from its burst, and refills
// at no more than its share.
func LocalShares(limits []limit.Limit, costs []int64, instances int) []limit.Limit {
	shares := slices.Clone(limits)
	for i := range shares {
		l := &shares[i]
		share := func(whole, least int64) int64 { return min(whole, max(1, least, whole/int64(max(1, instances)))) }
		if !l.Bucket() {
			l.Capacity = share(l.Capacity, costs[i])
			continue
		}
		l.Capacity = share(l.Capacity, 0)
		// The rounded-down rate may be too slow to fill the share of the burst.
		l.Burst = min(share(l.Burst, costs[i]), int64(limit.MaxDrain/l.Interval()))
	}
	return shares
}
