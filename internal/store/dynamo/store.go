// Package dynamo keeps counters in DynamoDB: one conditional write for each
// admitted request, none for a denial that an earlier answer already proves.
//
// Package protocol plans each write and interprets each item. This package sends
// those writes, keeps the snapshots that their answers contain, translates
// errors and corrects the clock. docs/protocol.md explains why it is safe.
//
// A charge passes these files in order, and each calls only those after it:
//
//	store.go      denies by a snapshot, or makes an attempt
//	queue.go      serializes this process's attempts at a key
//	batch.go      plans and checks one write for the attempts that wait
//	attempt.go    plans and checks one write for one attempt
//	write.go      sends a write; read.go reads an item again
//	answer.go     makes the item a snapshot, which snapshots.go keeps
package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo/lease"
	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

var (
	// ErrForeign is returned for an item that another program wrote or changed.
	ErrForeign = protocol.ErrForeign
	// ErrContended is returned when DynamoDB refused three writes in a row and the
	// last answer does not deny. Nothing was charged.
	ErrContended = fmt.Errorf("counter changed under every attempt: %w", limit.ErrUndecided)
	// ErrAhead is returned for a counter that a clock far ahead has charged. No
	// other caller can charge it until that slot begins.
	ErrAhead = errors.New("counter was charged by a clock far ahead; `slidegate reset RULE KEY` or Limiter.Reset deletes it")
)

// API is the part of the DynamoDB client that the store calls. UpdateItem must
// never be retried, because a charge that is sent twice can count twice.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options set up a Store. Only Wall is required.
type Options struct {
	// Wall returns the real time, from which the store computes the ttl of items.
	// No decision depends on it, so a replay may decide by the times of its log.
	Wall func() time.Time
	// Confirmed reports whether the clock behind the now of each call agrees
	// with DynamoDB's, as Clock.Confirmed does. Only then is a counter far
	// ahead of it an error, and has a hold ended by it. Nil is for clocks that the
	// caller answers for, as in a replay: holds end, and nothing is too far ahead.
	Confirmed func() bool
	// NewGeneration returns a mark that no other generation of an item has. Nil
	// stands for 96 random bits.
	NewGeneration func() string
}

// Store keeps counters in one table. It is safe for concurrent use, also by
// many processes at once.
//
// Trade-off: a denial by a snapshot costs nothing, an admission costs one write
// unit and one round trip. For at most ten seconds a snapshot may miss that
// units were refunded, so the store may over-deny. It never over-admits.
type Store struct {
	counters
	leases *lease.Leases
	queue  writeQueue
}

// New returns a store over a table, which must exist. It makes no call.
func New(api API, table string, opts Options) *Store {
	if opts.NewGeneration == nil {
		opts.NewGeneration = randomGeneration
	}
	return &Store{
		counters: counters{api: api, table: table, opts: opts, snapshots: newSnapshotCache()},
		leases:   lease.New(), queue: writeQueue{lines: map[string][]*waiter{}},
	}
}

// Calls returns how many items a store has read and how many writes it has sent.
// Writes include those whose condition failed, because AWS charges for them, and
// a write of a transaction counts twice. Calls is no method, because package
// dynamostore exports the methods of Store.
func Calls(s *Store) (reads, writes int64) { return s.reads.Load(), s.writes.Load() }

// Charge takes the costs from all limits of the key or from none, and fills in v.
// A denial is no error. An error means that the store admitted nothing and has no
// verdict. The last write may still have charged the item, if its outcome is
// unknown.
//
// Cost: nothing for a denial by a snapshot, otherwise one write, and at most
// three. A snapshot too old to deny costs a read as well.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	switch {
	case c.ZeroCost():
		return s.Peek(ctx, now, c, v)
	case c.Lease > 1:
		return s.leases.Charge(ctx, now, c, v, s.charge)
	}
	return s.charge(ctx, now, c, v)
}

// charge denies by the snapshot, or charges the counter in the table. A snapshot
// too old to deny is decided on again in the queue, so that one read serves all
// who wait.
func (s *Store) charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	snapshot := s.latest(c, now)
	err := s.evaluate(snapshot, c, now, v)
	allowed, old := err == nil && v.Allowed, tooOld(snapshot, c, now, err, v)
	switch {
	case old:
	case !allowed:
		v.Snapshot = err == nil
		return err
	case v.Before == nil && !c.Takes(v): // its cost is zero, and there is no room for its hold
		if err := s.Peek(ctx, now, c, v); err != nil || !v.Allowed || !c.Takes(v) {
			return err
		}
		snapshot = s.latest(c, now)
	}
	defer s.pruneOther(ctx, c.Key)()
	return s.queue.charge(&attempt{
		counters: &s.counters, ctx: ctx, charge: c, now: now, verdict: v, snapshot: snapshot, decided: allowed && !old,
	})
}

// Denies reports, without any call, whether a snapshot proves that the charge
// would be denied; if so v holds the denial.
func (s *Store) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	if c.Check() != nil {
		return false // Charge reports what is wrong with it
	}
	if c.Lease > 1 && s.leases.Covers(now, c) {
		return false
	}
	snapshot := s.latest(c, now)
	return snapshot != nil && s.evaluate(snapshot, c, now, v) == nil && !v.Allowed && snapshot.Fresh(c, now, v)
}

// Peek fills in the verdict that the charge would get now, by one consistent
// read. It charges nothing.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	snapshot, err := s.read(ctx, now, c)
	if err != nil {
		return err
	}
	return s.evaluate(snapshot, c, now, v)
}

// Settle corrects an earlier charge by deltas, one for each of its limits, once
// the true cost is known: a negative delta refunds units, a positive one
// charges more whatever the capacity. See protocol.PlanSettlement for the
// corrections that are possible.
//
// A counter that was deleted since is left alone. A write whose outcome is
// unknown is not sent again: refunding twice would let too much through. With a
// hold, the caller may settle again, because the write closes the hold.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	snapshot := s.snapshots.get(c)
	if !snapshot.Shows(c, r) {
		snapshot = nil
	}
	for range protocol.MaxAttempts {
		update := protocol.PlanSettlement(snapshot, c, r, deltas, now, s.opts.Wall(), s.opts.NewGeneration())
		if update == nil {
			return nil
		}
		after, outcome, err := s.send(ctx, now, c, update)
		if err != nil || outcome == written {
			return err
		}
		if outcome == transactionConflict {
			continue
		}
		current := after.Current(r)
		switch {
		case current == nil && r.Hold != 0:
			return limit.ErrReset
		case current == nil:
			return nil
		case r.Hold != 0 && after.Holds().Of(r) == nil:
			return limit.ErrClosed
		}
		snapshot, r = after, current
	}
	return ErrContended
}

// Renew moves the end of a charge's hold, unless a later call has. A write whose
// outcome is unknown may be sent again.
func (s *Store) Renew(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	if err := c.CheckRenewal(r); err != nil {
		return err
	}
	snapshot := s.snapshots.get(c)
	for range protocol.MaxAttempts {
		after, outcome, err := s.send(ctx, now, c, protocol.PlanRenewal(snapshot, c, r, now, s.opts.Wall()))
		if err != nil || outcome == written {
			return err
		}
		if outcome == transactionConflict {
			continue
		}
		if r = after.Current(r); r == nil {
			return limit.ErrReset
		}
		hold := after.Holds().Of(r)
		switch {
		case hold == nil:
			return limit.ErrClosed
		case hold.End >= c.Hold.Until(now):
			return nil
		}
		snapshot = after
	}
	return ErrContended
}

// Reset deletes the counter, so that the key's next request starts a new one.
// Other processes may deny by their snapshots for up to ten seconds more. Reset
// is for operators: a full window is empty after it.
func (s *Store) Reset(ctx context.Context, key string) error {
	s.writes.Add(1)
	_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(s.table), Key: protocol.PrimaryKey(key)})
	s.snapshots.cache.Remove(key)
	return Translate(err, s.table)
}
