package engine

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
)

// The names of calls, for Observer.StoreCall.
const (
	CallCharge    = "charge"
	CallChargeAll = "charge all"
	CallSettle    = "settle"
	CallRefund    = "refund" // a settlement that returns the whole charge
	CallClose     = "close"  // a settlement that only closes a hold
	CallRenew     = "renew"  // of a place in flight
)

// Observer sees every decision and every call of the store. What an engine
// counts in Options.Local, it does not see. Its methods run on the path of
// requests, concurrently. To implement some of them, embed NoObserver.
type Observer interface {
	// Decided is called for every decision.
	Decided(ctx context.Context, now time.Time, req *request.Request, d *Decision)
	// StoreCall is called as a call of the store begins. It returns a function
	// that is called with the error of that call, nil for none, as it ends. A call
	// that sent nothing has limit.ErrNotAsked.
	StoreCall(ctx context.Context, name string) (ended func(error))
	// StoreFailed reports a failure that a decision survived: the action, the
	// rule and key it was for, and the cause. A call for several rules reports
	// each of them.
	StoreFailed(ctx context.Context, action, rule, key string, err error)
	// StaleOverride reports an override of which a part was left out because it
	// no longer fits the rules.
	StaleOverride(ctx context.Context, now time.Time, rule, key string)
}

// NoObserver does nothing.
type NoObserver struct{}

// Decided does nothing.
func (NoObserver) Decided(context.Context, time.Time, *request.Request, *Decision) {}

// StoreCall does nothing.
func (NoObserver) StoreCall(context.Context, string) func(error) { return func(error) {} }

// StoreFailed does nothing.
func (NoObserver) StoreFailed(context.Context, string, string, string, error) {}

// StaleOverride does nothing.
func (NoObserver) StaleOverride(context.Context, time.Time, string, string) {}

// observe makes a call of the store, and shows it to an observer.
func observe(ctx context.Context, o Observer, name string, call func() error) error {
	ended := o.StoreCall(ctx, name)
	err := call()
	ended(err)
	return err
}

// chargeShared charges one rule in the store that processes share.
func (e *Engine) chargeShared(ctx context.Context, now time.Time, v *Verdict) error {
	ended := e.opts.Observer.StoreCall(ctx, CallCharge)
	v.Snapshot = false
	err := e.opts.Store.Charge(ctx, now, &v.Charge, &v.Verdict)
	if err == nil && v.Snapshot {
		ended(limit.ErrNotAsked)
		return nil
	}
	ended(err)
	e.abandon(ctx, now, v, err)
	return err
}

// denies reports whether the store's snapshot proves that v is denied.
func (e *Engine) denies(now time.Time, v *Verdict) bool {
	v.Snapshot = e.opts.Store.Denies(now, &v.Charge, &v.Verdict)
	return v.Snapshot
}

// settle corrects the charge of v in the store that has made it, and closes its
// hold.
func (e *Engine) settle(ctx context.Context, now time.Time, v *Verdict, deltas []int64) error {
	if v.charged == chargedLocally {
		return e.opts.Local.Settle(ctx, now, &v.Charge, &v.Receipt, deltas)
	}
	return observe(ctx, e.opts.Observer, correctionCall(&v.Charge, deltas), func() error { return e.opts.Store.Settle(ctx, now, &v.Charge, &v.Receipt, deltas) })
}
