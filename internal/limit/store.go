package limit

import (
	"context"
	"errors"
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
	// not Correctable has delta 0; a leaky bucket also minus the cost, to take
	// back a turn that has not come. A store may keep a turn with others behind it.
	//
	// If the receipt has a hold, the same write closes it: a settlement that is
	// sent twice counts once. Then it fails with ErrClosed if the hold is gone, and
	// with ErrReset if the counter is; nothing is corrected.
	Settle(ctx context.Context, now time.Time, c *Charge, r *Receipt, deltas []int64) error
	// Renew moves the end of the receipt's hold to c.Hold.For from now, unless a
	// later call has moved it further. It fails as Settle does.
	Renew(ctx context.Context, now time.Time, c *Charge, r *Receipt) error
	// Reset deletes the key's counter. The next charge starts a new one.
	Reset(ctx context.Context, key string) error
}

// ErrGroup is wrapped by an error of a call with several charges which each of
// them might not get alone: one of the counters is at fault, or the store cannot
// take these keys together. Nothing was charged.
var ErrGroup = errors.New("the charges were refused together")

// ErrNotAsked is what an observer of calls gets for one that sent nothing: an
// earlier answer proved a denial, or a breaker kept the call from the store.
var ErrNotAsked = errors.New("the store was not asked")

// SnapshotAge is how old a state that a store keeps of an earlier answer may be
// and still deny without a call. A reset or a refund by another process shows
// within it.
const SnapshotAge = 10 * time.Second

// Fresh reports whether a state taken at one time may deny at another without a
// call. A state of the future was taken by a clock that has been set back since,
// or by a caller of the same process whose clock is ahead.
func Fresh(taken, now time.Time) bool {
	age := now.Sub(taken)
	return -SnapshotAge <= age && age <= SnapshotAge
}
