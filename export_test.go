package slidegate

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// ReserveAt is Reserve at a given time, for buckets and logs too.
func (l *Limiter) ReserveAt(ctx context.Context, now time.Time, key string, costs ...int64) (*Reservation, error) {
	return l.reserve(ctx, &now, key, units{n: 1, costs: costs})
}

// SettleAt is Settle at a given time.
func (r *Reservation) SettleAt(ctx context.Context, now time.Time, costs ...int64) error {
	return r.settle(ctx, now, units{costs: costs, stated: true})
}

// PeekCosts returns what AllowCosts would return.
func (l *Limiter) PeekCosts(ctx context.Context, key string, costs ...int64) (Result, error) {
	return l.peek(ctx, key, units{n: 1, costs: costs})
}

// Item returns the name of a key's counter.
func (l *Limiter) Item(key string) string { return l.item(key) }

// Receipt returns what the conformance suite compares of a reservation.
func (r *Reservation) Receipt() limit.Receipt { return r.call.Receipt }

// Again lets the conformance suite settle a reservation once more.
func (r *Reservation) Again() *Reservation {
	return &Reservation{Result: r.Result, limiter: r.limiter, call: r.call}
}
