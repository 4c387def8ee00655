package slidegate

import (
	"context"
	"errors"

	"github.com/slidegate/slidegate/internal/clock"
)

// ErrNever is returned by Wait for a request that its limits can never allow,
// because it costs more than they hold.
var ErrNever = errors.New("the request costs more than the limit can ever allow")

// Wait blocks until the limits of a key allow one unit, and charges it. For a
// [LeakyBucket] it also waits for the turn of the request. It returns at once with
// an error if the context would end before: the limits then have charged nothing,
// or the turn of a leaky bucket passes unused.
//
// Requests that wait at the same time are admitted in no particular order. Those
// that wait for a window all ask again when it has room; in a LeakyBucket each
// has its turn, so that suits many of them better, above all in a shared store.
//
// While the store fails, Wait does as the error policy says: under [FailClosed]
// it asks again every second.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	return l.wait(ctx, key, units{n: 1})
}

// WaitN is Wait for n units of each limit, as [Limiter.AllowN] charges them.
func (l *Limiter) WaitN(ctx context.Context, key string, n int64) error {
	return l.wait(ctx, key, units{n: n})
}

// WaitCosts is Wait for costs, one for each limit, as [Limiter.AllowCosts] charges
// them.
func (l *Limiter) WaitCosts(ctx context.Context, key string, costs ...int64) error {
	if len(costs) == 0 { // which would stand for 1
		return l.wrap(errNoCosts)
	}
	return l.wait(ctx, key, units{1, costs})
}

func (l *Limiter) wait(ctx context.Context, key string, n units) error {
	for {
		if err := ctx.Err(); err != nil {
			return l.wrap(err)
		}
		var r Result
		if err := l.allow(ctx, nil, key, n, &r); err != nil {
			return err
		}
		switch {
		case r.RetryAfter == Never:
			return l.wrap(ErrNever)
		case r.Allowed:
			return l.wrap(clock.AwaitTurn(ctx, r.Delay))
		}
		if err := clock.AwaitTurn(ctx, r.RetryAfter); err != nil {
			return l.wrap(err)
		}
	}
}
