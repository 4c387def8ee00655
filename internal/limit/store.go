package limit

import (
	"context"
	"time"
)

// Store keeps counters. A denial is a verdict; an error means that the store
// did not decide. A store is safe for concurrent use.
type Store interface {
	// Charge takes the costs from all limits of the key or from none.
	Charge(ctx context.Context, now time.Time, c *Charge, v *Verdict) error
	// ChargeAll takes the costs of 1 to MaxLimits different keys, or of none of
	// them. If one of the charges is denied, nothing is taken, and the other
	// verdicts say what their charges would get.
	ChargeAll(ctx context.Context, now time.Time, cs []*Charge, vs []*Verdict) error
	// Denies reports whether the store's local snapshot proves a denial,
	// without a round trip. If so, v holds the denial.
	Denies(now time.Time, c *Charge, v *Verdict) bool
	// Peek returns in v what the charge would get now. It changes nothing.
	Peek(ctx context.Context, now time.Time, c *Charge, v *Verdict) error
	// Settle corrects a charge by deltas, one for each limit. A limit that is
	// not Correctable has delta 0.
	Settle(ctx context.Context, now time.Time, c *Charge, r *Receipt, deltas []int64) error
	// Reset deletes the key's counter. The next charge starts a new one.
	Reset(ctx context.Context, key string) error
}
