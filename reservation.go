package slidegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
)

// Reservation is a charge that is corrected once the true cost is known, such
// as the tokens of a language model.
type Reservation struct {
	// Result is the answer to the reservation. One that was not allowed has
	// charged nothing.
	Result
	limiter *Limiter
	call    *call
	settled atomic.Bool
}

// Reserve charges one unit of each limit, or costs as [Limiter.AllowCosts] takes
// them, and returns what Settle needs to correct the charge. It takes a limiter by
// windows: of a bucket or a log, nothing can be returned.
//
//	r, err := tokens.Reserve(ctx, "user:7", 4096) // the most that the answer may cost
//	if err != nil || !r.Allowed {
//		…
//	}
//	answer, used := complete(prompt)
//	err = r.Settle(ctx, used)
func (l *Limiter) Reserve(ctx context.Context, key string, costs ...int64) (*Reservation, error) {
	if !slices.ContainsFunc(l.rule.Limits, func(c limit.Limit) bool { return c.Correctable() }) {
		return nil, l.wrap(fmt.Errorf("nothing can be returned to a %s: reserve from a SlidingWindow or another window", l.config.Limits[0].Call))
	}
	return l.reserve(ctx, l.config.Now(), key, units{1, costs})
}

func (l *Limiter) reserve(ctx context.Context, now time.Time, key string, n units) (*Reservation, error) {
	c := l.newCall()
	if err := l.resolve(ctx, c, key, n); err != nil {
		return nil, err
	}
	if err := l.charge(ctx, now, c); err != nil {
		return nil, err
	}
	r := &Reservation{limiter: l, call: c}
	l.report(ctx, now, c, &r.Result)
	return r, nil
}

var errSettled = errors.New("the reservation was settled before")

// Settle corrects the reservation to the true costs, one for each limit; another
// number of costs is an error. Fewer units are returned to the slot that they were
// taken from; more are charged now, whatever the limit, so that later requests
// pay for them. Buckets and logs among several limits keep their charge.
//
// Call it once: a second call returns an error and changes nothing, so that
// `defer r.Cancel(ctx)` is safe. After an error of the store the charge may
// stay, and never doubles. A reservation that was denied, or decided by
// [FailOpen], has nothing to settle.
//
// The context may have been cancelled: a client must not keep units reserved by
// hanging up.
func (r *Reservation) Settle(ctx context.Context, costs ...int64) error {
	return r.settleCosts(ctx, r.limiter.config.Now(), costs)
}

// Cancel returns all units of the reservation.
func (r *Reservation) Cancel(ctx context.Context) error {
	return r.settle(ctx, r.limiter.config.Now(), units{})
}

func (r *Reservation) settleCosts(ctx context.Context, now time.Time, costs []int64) error {
	if len(costs) == 0 { // which would stand for 1
		return r.limiter.wrap(errNoCosts)
	}
	return r.settle(ctx, now, units{1, costs})
}

func (r *Reservation) settle(ctx context.Context, now time.Time, actual units) error {
	l := r.limiter
	var costs [limit.MaxLimits]int64
	if err := actual.fill(&costs, l.order); err != nil {
		return l.wrap(err)
	}
	if err := checkTime(now); err != nil {
		return l.wrap(err)
	}
	if r.settled.Swap(true) {
		return l.wrap(errSettled)
	}
	ctx, cancel := l.config.Bound(context.WithoutCancel(ctx))
	defer cancel()
	err := l.engine.SettleRule(ctx, now, &r.call.Verdict, costs[:len(l.order)])
	if err != nil {
		l.observeFailure(ctx, now, r.call, ActionSettle, err)
	}
	return l.wrap(err)
}

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
