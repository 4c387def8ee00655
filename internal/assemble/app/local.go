package app

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Local is the store of a long-lived process for rules with on_error: local. It
// counts by a clock of its own, because the wall clock may be set while the
// store that would correct it is away: Redis's clock, or DynamoDB's, is unknown
// then.
//
// A Lambda has no such clock. Its monotonic clock stands still between
// requests, so that windows would hardly ever end. It counts by the time of the
// decision, which never runs backwards within a process. If the wall clock is
// set forward during the outage, the windows of the outage begin again.
type Local struct {
	*memory.Fallback // its Note and Reset
	now              func() time.Time
}

// NewLocal returns a store that counts by a clock.
func NewLocal(now func() time.Time) *Local {
	return &Local{memory.NewFallback(memory.FallbackKeys), now}
}

// Charge is memory.Store.Charge by the store's own clock.
func (l *Local) Charge(ctx context.Context, _ time.Time, c *limit.Charge, v *limit.Verdict) error {
	return l.Fallback.Charge(ctx, l.now(), c, v)
}

// ChargeAll is memory.Store.ChargeAll by the store's own clock.
func (l *Local) ChargeAll(ctx context.Context, _ time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	return l.Fallback.ChargeAll(ctx, l.now(), cs, vs)
}

// Denies is memory.Store.Denies by the store's own clock.
func (l *Local) Denies(_ time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return l.Fallback.Denies(l.now(), c, v)
}

// Settle is memory.Store.Settle by the store's own clock.
func (l *Local) Settle(ctx context.Context, _ time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	return l.Fallback.Settle(ctx, l.now(), c, r, deltas)
}

// Renew is memory.Store.Renew by the store's own clock.
func (l *Local) Renew(ctx context.Context, _ time.Time, c *limit.Charge, r *limit.Receipt) error {
	return l.Fallback.Renew(ctx, l.now(), c, r)
}

// Peek is memory.Store.Peek by the store's own clock.
func (l *Local) Peek(ctx context.Context, _ time.Time, c *limit.Charge, v *limit.Verdict) error {
	return l.Fallback.Peek(ctx, l.now(), c, v)
}
