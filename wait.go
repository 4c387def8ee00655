package slidegate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/clock"
)

// ErrNever is returned by Wait for a request that its limits can never allow,
// because it costs more than they hold.
var ErrNever = errors.New("the request costs more than the limit can ever allow")

// Wait blocks until the limits of a key allow n units, and charges them. For a
// [LeakyBucket] it also waits for the turn of the request. It returns at once
// with an error if the context would end before: the limits then have charged
// nothing, or the turn of a leaky bucket passes unused.
//
// Requests that wait at the same time are admitted in no particular order. Those
// that wait for a window all ask again when it has room; in a LeakyBucket each
// has its turn, so that suits many of them better, above all in a shared store.
//
// While the store fails, Wait does as the error policy says: under [FailClosed]
// it asks again every second.
func (l *Limiter) Wait(ctx context.Context, key string, n ...int64) error {
	for {
		if err := ctx.Err(); err != nil {
			return l.wrap(err)
		}
		r, err := l.AllowN(ctx, key, n...)
		if err != nil {
			return err
		}
		switch {
		case r.RetryAfter == Never:
			return l.wrap(ErrNever)
		case r.Allowed:
			return l.wrap(sleep(ctx, r.Delay))
		}
		if err := sleep(ctx, r.RetryAfter); err != nil {
			return l.wrap(err)
		}
	}
}

// sleep waits, or fails at once if the context would end before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if clock.EndsBefore(ctx, d) {
		return fmt.Errorf("the next turn is in %v: %w", d.Round(time.Millisecond), context.DeadlineExceeded)
	}
	return clock.Sleep(ctx, d)
}
