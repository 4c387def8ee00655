// Package lease charges a busy counter ahead: one write for many requests of a
// process, which it then admits without another.
//
// A lease ends with the slot that it charged. So each unit counts in the slot of
// the request that it admits, as if the request had charged it, and no window
// admits more than without leases. In return, units that are left when the slot
// ends are lost until the slot leaves the window: a process admits a little less
// than the limit (docs/decisions/leases.md has the figures). A lease also ends ten
// seconds after the table's last answer, as snapshots do, and admits only charges
// that state the capacities under which it was taken.
//
// Buckets and logs have no slots to end with, so their charges are made alone.
package lease

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/kit/cache"
	"github.com/slidegate/slidegate/internal/limit"
)

// maxKeys bounds the keys with leases in one process. A lease beyond it is
// dropped, and the units that it had left are lost until their slot has left the
// window.
const maxKeys = 10_000

// Leases are the units that this process has charged ahead. They are safe for
// concurrent use.
type Leases struct {
	accounts cache.Cache[string, *account]
}

// New returns no leases yet.
func New() *Leases {
	return &Leases{cache.New[string, *account](maxKeys)}
}

// ChargeFunc makes a charge in the table.
type ChargeFunc func(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error

// Charge admits the charge from a lease. If there is none, it makes the charge
// in the table, together with the charges that the process is likely to need
// until the slot ends, at most c.Lease of them. If they do not all fit, the
// charge is made alone: a lease never denies.
func (ls *Leases) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict, charge ChargeFunc) error {
	if !leasable(c) {
		return charge(ctx, now, c, v)
	}
	a := ls.account(c.Key)
	ahead := a.admit(now, c, v)
	switch {
	case ahead == 0:
		return nil
	case ahead > 1:
		several := *c
		several.Costs = times(c.Costs, ahead)
		err := charge(ctx, now, &several, v)
		a.arrived(now, c, v, ahead-1, err == nil && v.Allowed)
		if err != nil || v.Allowed {
			return err
		}
	}
	err := charge(ctx, now, c, v)
	if err == nil && v.Allowed {
		a.charged(v, c)
	}
	return err
}

// account returns the account of a key. It is new for a new key.
func (ls *Leases) account(key string) *account {
	if a, ok := ls.accounts.Get(key); ok {
		return a
	}
	return ls.accounts.Update(key, func(old *account, found bool) (*account, bool) {
		if found {
			return old, false
		}
		return &account{}, true
	})
}

// Covers reports whether a lease admits the charge.
func (ls *Leases) Covers(now time.Time, c *limit.Charge) bool {
	if !leasable(c) {
		return false
	}
	a, ok := ls.accounts.Get(c.Key)
	return ok && a.covers(now, c)
}

// leasable reports whether the charge is by slots alone, and costs something.
// Several of a cost that never fits might overflow.
func leasable(c *limit.Charge) bool {
	for i := range c.Limits {
		if l := &c.Limits[i]; c.Costs[i] > l.MaxCost() || c.Costs[i] > 0 && !l.Correctable() {
			return false
		}
	}
	return !c.ZeroCost()
}

func times(costs []int64, n int64) []int64 {
	products := make([]int64, len(costs))
	for i, cost := range costs {
		products[i] = n * cost
	}
	return products
}
