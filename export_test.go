package slidegate

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// ReserveAt is Reserve at a given time, for buckets and logs too.
func (l *Limiter) ReserveAt(ctx context.Context, now time.Time, key string, n ...int64) (*Reservation, error) {
	return l.reserve(ctx, now, key, n)
}

// SettleAt is Settle at a given time.
func (r *Reservation) SettleAt(ctx context.Context, now time.Time, actual ...int64) error {
	return r.settle(ctx, now, actual)
}

// Item returns the name of a key's counter.
func (l *Limiter) Item(key string) string { return l.item(key) }

// Receipt returns what the conformance suite compares of a reservation.
func (r *Reservation) Receipt() limit.Receipt { return r.call.Receipt }

// Again lets the conformance suite settle a reservation once more.
func (r *Reservation) Again() *Reservation {
	return &Reservation{Result: r.Result, limiter: r.limiter, call: r.call}
}

// ProcessClock is the clock of limiters without another one.
var ProcessClock = processClock

// Pauses returns the number of pauses that the transport keeps.
func (t *Transport) Pauses() int { return len(t.pauses) }
