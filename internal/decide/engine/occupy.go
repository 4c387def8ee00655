package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// renewTries is how many more renewals fit between one that fails and the end
	// of the hold.
	renewTries = 10
	// arrival is how long a charge may be on its way to the store after this
	// process has given up on it.
	arrival = time.Second
)

// ErrPlaceLost is wrapped by the cause of a context that ends because the request
// has lost its place in flight.
var ErrPlaceLost = errors.New("the request has lost its place in flight")

// Occupy keeps the places in flight of an allowed decision until Finish: it renews
// each at half of its time. The caller works under the context that it returns,
// which ends with ErrPlaceLost when another request may have the place: it was not
// renewed in time, and on_error is deny, or the store has given it away.
//
// occupied is false for a decision without places. Then the context is ctx, and
// nothing is allocated. A client that hangs up ends the work, but the place is kept
// until Finish: the work may take longer to notice.
func (e *Engine) Occupy(ctx context.Context, now func() time.Time, d *Decision) (work context.Context, occupied bool) {
	work = ctx
	var renewals context.Context
	var end context.CancelCauseFunc
	for v := range d.All() {
		if !v.place() || v.charged == notCharged {
			continue
		}
		if d.leave == nil {
			begun, cancel := context.WithCancelCause(ctx)
			kept, stop := context.WithCancel(context.WithoutCancel(ctx))
			d.leave = func() { stop(); cancel(nil) }
			work, renewals, end = begun, kept, cancel // copies: d.leave would have the variables allocated for every decision
		}
		go e.keep(renewals, now, v, end)
	}
	return work, d.leave != nil
}

// Occupier returns Occupy by a clock, for the doors of programs.
func (e *Engine) Occupier(now func() time.Time) func(context.Context, *Decision) (work context.Context, occupied bool) {
	return func(ctx context.Context, d *Decision) (context.Context, bool) { return e.Occupy(ctx, now, d) }
}

// keep renews the place of v until the context ends, or the place is lost.
func (e *Engine) keep(ctx context.Context, now func() time.Time, v *Verdict, end context.CancelCauseFunc) {
	length := v.Charge.Hold.For
	until, wait, late := now().Add(length), length/2, false
	for clock.Sleep(ctx, wait) == nil {
		sent := now()
		bounded, cancel := context.WithTimeout(ctx, correctionTimeout)
		err := e.RenewRule(bounded, sent, v)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			until, wait, late = sent.Add(length), length/2, false
		case isGone(err):
			e.lose(ctx, v, err, end)
			return
		case now().Before(until): // an outage
			wait = min(length/2/renewTries, until.Sub(now()))
		default: // it lasts; the work may go on, and its place is free for others only once they take it
			if !late {
				e.lose(ctx, v, err, end)
			}
			if late, wait = true, length/2/renewTries; v.Rule.OnError == rules.OnErrorDeny {
				return
			}
		}
	}
}

// lose reports that v could not be renewed, and ends the work if another request
// may have its place. The work goes on if the counter was reset, which gives up the
// places that were taken before. After an outage on_error decides. A shadow rule
// ends nothing.
func (e *Engine) lose(ctx context.Context, v *Verdict, err error, end context.CancelCauseFunc) {
	action, lost := CallRenew, errors.Is(err, limit.ErrClosed)
	if !isGone(err) {
		action, lost = CallRenew+": "+v.Rule.OnError.String(), v.Rule.OnError == rules.OnErrorDeny
	}
	err = fmt.Errorf("%w: %w", ErrPlaceLost, err)
	e.opts.Observer.StoreFailed(ctx, action, v.Rule.Name, v.Key, err)
	if lost && v.Rule.Enforced() {
		end(err)
	}
}

// isGone reports whether a hold is gone for ever.
func isGone(err error) bool { return errors.Is(err, limit.ErrClosed) || errors.Is(err, limit.ErrReset) }

// abandon gives back the place of a charge that may have been made or not, because
// the store has not answered: it would be kept for nothing. A caller who may repeat
// the charge by its own ID expects to find it.
func (e *Engine) abandon(ctx context.Context, now time.Time, v *Verdict, cause error) {
	if cause == nil || v.named || !v.place() {
		return
	}
	if _, refused := errors.AsType[limit.Throttled](cause); refused || errors.Is(cause, limit.ErrNotAsked) ||
		errors.Is(cause, limit.ErrUndecided) || errors.Is(cause, limit.ErrGroup) {
		return // nothing was charged
	}
	lost := &Verdict{Resolution: v.Resolution, charged: chargedShared} // v may be charged anew meanwhile
	lost.Receipt.Hold, lost.Charge.Costs = v.Charge.Hold.ID, make([]int64, len(v.Charge.Costs))
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(arrival, func() { _ = e.settleSurely(ctx, now.Add(arrival), lost, lost.Charge.Costs) })
}
