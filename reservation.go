package slidegate

import (
	"context"
	"errors"
	"fmt"
	mrand "math/rand/v2"
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
// windows, whose units can be returned, by a [LeakyBucket], whose turns can (see
// [Reservation.Cancel]), or by places [InFlight].
//
//	r, err := tokens.Reserve(ctx, "user:7", 4096) // the most that the answer may cost
//	if err != nil || !r.Allowed {
//		…
//	}
//	answer, used := complete(prompt)
//	err = r.Settle(ctx, used)
func (l *Limiter) Reserve(ctx context.Context, key string, costs ...int64) (*Reservation, error) {
	if l.place < 0 && !slices.ContainsFunc(l.rule.Limits, func(c limit.Limit) bool { return c.Correctable() || c.Algorithm == limit.LeakyBucket }) {
		return nil, l.wrap(fmt.Errorf("nothing can be returned to a %s: reserve from a SlidingWindow or another window", l.config.Limits[0].Call))
	}
	return l.reserve(ctx, nil, key, units{n: 1, costs: costs})
}

func (l *Limiter) reserve(ctx context.Context, at *time.Time, key string, n units) (*Reservation, error) {
	r := &Reservation{limiter: l, call: l.newCall()}
	if err := l.do(ctx, at, r.call, key, n, &r.Result); err != nil {
		return nil, err
	}
	return r, nil
}

// ErrClosed is wrapped by the error of Settle, Cancel and Renew for a reservation
// that was settled before, or whose place [InFlight] has expired.
var ErrClosed = limit.ErrClosed

// ErrReset is wrapped by the error of Settle, Cancel and Renew for a place whose
// counter was deleted, as by [Limiter.Reset].
var ErrReset = limit.ErrReset

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
	return r.settle(ctx, r.limiter.config.Now(), units{costs: costs, stated: true})
}

// Cancel returns all units of the reservation. A [LeakyBucket] takes back a turn
// that has not come, and the next caller gets it. In memory, that happens once all
// later turns were given back too. A store of package dynamostore or redisstore
// takes back only the last turn of all processes. Any other turn passes unused.
func (r *Reservation) Cancel(ctx context.Context) error {
	return r.settle(ctx, r.limiter.config.Now(), units{})
}

func (r *Reservation) settle(ctx context.Context, now time.Time, actual units) error {
	l := r.limiter
	var costs [limit.MaxLimits]int64
	if err := actual.fill(&costs, l); err != nil {
		return l.wrap(err)
	}
	if err := checkTime(now); err != nil {
		return l.wrap(err)
	}
	if r.settled.Swap(true) {
		return l.wrap(ErrClosed)
	}
	ctx, cancel := l.config.Bound(context.WithoutCancel(ctx))
	defer cancel()
	err := l.engine.SettleRule(ctx, now, &r.call.Verdict, costs[:len(l.order)])
	if err != nil {
		l.observeFailure(ctx, now, r.call, ActionSettle, err)
	}
	return l.wrap(err)
}

// Renew keeps the place of a limit [InFlight] for the time expires from now. Call
// it at half of that time while the work goes on, and stop the work if it fails
// with [ErrClosed] or [ErrReset]: another request may have the place. A
// reservation that was denied, or decided by [FailOpen], has no place, and Renew
// does nothing.
func (r *Reservation) Renew(ctx context.Context) error {
	l, now := r.limiter, r.limiter.config.Now()
	switch {
	case l.place < 0:
		return l.wrap(errors.New("only a place InFlight can be renewed"))
	case r.settled.Load():
		return l.wrap(ErrClosed)
	}
	ctx, cancel := l.config.BoundByDefault(ctx)
	defer cancel()
	return l.wrap(l.engine.RenewRule(ctx, now, &r.call.Verdict))
}

// ErrNever is returned by Wait for a request that its limits can never allow,
// because it costs more than they hold.
var ErrNever = errors.New("the request costs more than the limit can ever allow")

// Wait blocks until the limits of a key allow one unit, and charges it. For a
// [LeakyBucket] it also waits for the turn of the request. It returns at once with
// an error if the context would end before. The limits then have charged nothing,
// and a turn is given back as [Reservation.Cancel] does, also by a Wait whose
// context ends later. A store that is away delays that by the deadline of a
// decision.
//
// Requests that wait at the same time are admitted in no particular order. Those
// that wait for a window all ask again when it has room; in a LeakyBucket each
// has its turn, so that suits many of them better, above all in a shared store.
//
// A caller that waits for several units of a bucket comes to its turn: once it was
// denied, others who wait for the same key of this Limiter wait until it is
// admitted, or their contexts end. Other processes do not wait for it, and neither
// does Allow. In a window, requests of fewer units may take the room again and again.
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
	return l.wait(ctx, key, units{costs: costs, stated: true})
}

// Acquire is Reserve that waits as [Limiter.Wait] does: it blocks until the limits
// allow the reservation, which is allowed then. It is for places [InFlight]: it
// asks for one about once a second, because none says when it will be free.
//
//	r, err := workers.Acquire(ctx, "tenant:7")
//	if err != nil {
//		return err
//	}
//	defer r.Cancel(ctx) // gives the place back
func (l *Limiter) Acquire(ctx context.Context, key string, costs ...int64) (*Reservation, error) {
	r := &Reservation{limiter: l, call: l.newCall()}
	if err := l.await(ctx, r, key, units{n: 1, costs: costs}); err != nil {
		return nil, err
	}
	r.Result.fill(&r.call.Verdict, l.order)
	return r, nil
}

func (l *Limiter) wait(ctx context.Context, key string, n units) error {
	if l.place >= 0 {
		return l.wrap(errPlace)
	}
	c := l.calls.Get().(*call)
	err := l.await(ctx, &Reservation{limiter: l, call: c}, key, n)
	if err == nil {
		l.calls.Put(c)
	}
	return err
}

// await blocks until r is admitted and has its turn.
func (l *Limiter) await(ctx context.Context, r *Reservation, key string, n units) error {
	delay, err := l.admit(ctx, r.call, key, n)
	if err != nil {
		return err
	}
	if err = clock.AwaitTurn(ctx, delay); err != nil {
		_ = r.Cancel(ctx) // observers see its error
	}
	return l.wrap(err)
}

// admit blocks until the limits allow a request, and charges it by c. The request
// has its turn after the delay.
func (l *Limiter) admit(ctx context.Context, c *call, key string, n units) (delay time.Duration, err error) {
	var mine chan struct{} // closed once this caller no longer goes first
	defer func() {
		if mine != nil {
			l.firsts.Delete(key)
			close(mine)
		}
	}()
	for {
		if other, ok := l.firsts.Load(key); ok && other != mine {
			select {
			case <-other.(chan struct{}):
				continue
			case <-ctx.Done():
			}
		}
		if err := ctx.Err(); err != nil {
			return 0, l.wrap(err)
		}
		var r Result
		if err := l.do(ctx, nil, c, key, n, &r); err != nil || r.Allowed {
			return r.Delay, err
		}
		if r.RetryAfter == Never {
			return 0, l.wrap(ErrNever)
		}
		// Requests of single units may take what a bucket refills before this one
		// finds enough of it.
		if i := c.Tightest(); mine == nil && c.costs[i] > 1 && l.rule.Limits[i].Bucket() {
			first := make(chan struct{})
			if _, taken := l.firsts.LoadOrStore(key, first); !taken {
				mine = first
			}
		}
		if l.place >= 0 && !c.Limits[l.place].Allowed { // all who wait for a place would ask at once
			r.RetryAfter += mrand.N(limit.HoldRetry) - limit.HoldRetry/2
		}
		if err := clock.AwaitTurn(ctx, r.RetryAfter); err != nil {
			return 0, l.wrap(err)
		}
	}
}
