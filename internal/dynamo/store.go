// Package dynamo keeps counters in DynamoDB: one conditional write for each allowed request, none for a denial that an
// earlier answer already proves.
//
// The protocol is that of docs/design.md section 3.1. A caller holds a view, any earlier state of the counter's item, and
// from it knows P, a lower bound on the units charged before the current window. Units are only ever added to the total
// C, so C ≤ P + capacity − cost proves that the window has room, whoever else has written since: that comparison is the
// condition of the write. When a window fills, the same numbers prove a denial without asking the table at all.
package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/limit"
)

const (
	// maxAttempts bounds the writes of one charge. Within one slot three suffice, two deletes or settlements in flight
	// aside (checked exhaustively on small systems).
	maxAttempts = 3
	// viewLife is how old a view may be and still deny on its own. An older one is read again first, so that a reset shows.
	viewLife = 10 * time.Second
	// aheadLife is how far the newest slot may be ahead of a confirmed clock, besides one slot.
	aheadLife = 3 * time.Second
)

var (
	// ErrContended is returned when three writes in a row lost against others and the last answer does not deny.
	ErrContended = fmt.Errorf("counter changed under every attempt: %w", limit.ErrUndecided)
	// ErrAhead is returned for a counter that a clock far ahead has charged: nobody could charge it before that slot.
	ErrAhead = errors.New("counter was charged by a clock far ahead; `slidegate reset RULE KEY` starts it afresh")
)

// API is the part of the DynamoDB client that the store calls.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options set up a Store. The zero value of each but Wall is usable.
type Options struct {
	// Wall is the clock that the ttl of items is reckoned by: real time, also where a replay decides by its log's. It
	// never takes part in a decision.
	Wall func() time.Time
	// Confirmed says whether the clock that decisions are made by agrees with DynamoDB's, as Clock.Confirmed does. Only
	// then is a counter that is far ahead an error; nil stands for never.
	Confirmed func() bool
	// MaxViews bounds the cache of views; 0 stands for DefaultMaxViews.
	MaxViews int
	// NewLife returns a mark that no two lives of an item share; nil stands for 96 random bits.
	NewLife func() string
}

// Store keeps counters in one table. It is safe for concurrent use, also by many processes at once.
//
// Trade-off: a denial by a view costs nothing, an admission costs one write unit and one round trip. A view may miss
// that units were given back since, for at most ten seconds; it never misses that units were taken.
type Store struct {
	api     API
	table   string
	opts    Options
	views   *viewCache
	tidying atomic.Pointer[tidying]
	reads   atomic.Int64
	writes  atomic.Int64
}

// New returns a store over a table, which must exist.
func New(api API, table string, opts Options) *Store {
	if opts.Confirmed == nil {
		opts.Confirmed = func() bool { return false }
	}
	if opts.NewLife == nil {
		opts.NewLife = randomLife
	}
	return &Store{api: api, table: table, opts: opts, views: newViewCache(opts.MaxViews)}
}

// Calls returns how many items the store has read and how many writes it has sent, failed conditions included: both are
// what AWS charges for.
func (s *Store) Calls() (reads, writes int64) { return s.reads.Load(), s.writes.Load() }

// Charge takes the costs from all limits of the key or from none. An error means that the store cannot say: the outcome
// of the last write may be unknown, and then may have charged, but nothing was admitted.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Free() {
		return s.Peek(ctx, now, c, v)
	}
	seen := s.views.get(c)
	for attempt := range maxAttempts + 1 {
		var err error
		if seen, err = s.judge(ctx, now, c, seen, v); err != nil || !v.Allowed {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		if attempt == 0 {
			defer s.tidyOthers(ctx, c.Key)()
		}
		w := plan(seen, c, now, s.opts.Wall(), attempt == 0)
		after, came, err := s.send(ctx, now, c, chargeExpression(w, s.opts.NewLife()))
		if err != nil {
			return err
		}
		if came != forestalled {
			seen = after
		}
		if came == wrote {
			if err = tampered(seen, c, now); err != nil {
				return err
			}
			limit.Left(seen.states, seen.life, c, now, v)
			s.noteTidying(w, seen, c)
			return nil
		}
	}
	return ErrContended
}

// Denies reports, without any call, whether a view proves that the charge would be denied; if so v holds the denial.
func (s *Store) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	if c.Check() != nil {
		return false // Charge says what is wrong with it
	}
	seen := s.views.get(c)
	return seen != nil && fresh(seen, now) && s.verdict(seen, c, now, v) == nil && !v.Allowed
}

// Peek says what the charge would get now, by a consistent read. It charges nothing.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	seen, err := s.read(ctx, now, c)
	if err != nil {
		return err
	}
	return s.verdict(seen, c, now, v)
}

// Reset deletes the counter: its next request starts afresh, in every process within ten seconds. It is for operators: a
// window that was full is empty after it.
func (s *Store) Reset(ctx context.Context, key string) error {
	s.writes.Add(1)
	_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(s.table), Key: itemKey(key)})
	s.views.drop(key)
	return Translate(err, s.table)
}

// judge decides from a view what the charge gets, so far as a view can: an allowance is still to be proven by the write.
// A view too old to deny on its own is read again first; where that fails its denial stands, because it is proven.
func (s *Store) judge(ctx context.Context, now time.Time, c *limit.Charge, seen *view, v *limit.Verdict) (*view, error) {
	err := s.verdict(seen, c, now, v)
	if err == nil && v.Allowed || seen == nil || fresh(seen, now) {
		return seen, err
	}
	again, failed := s.read(ctx, now, c)
	if failed != nil && err == nil {
		return seen, nil
	}
	if failed != nil {
		return seen, failed
	}
	return again, s.verdict(again, c, now, v)
}

// verdict judges the charge on a view alone; a nil view is a counter that was never charged.
func (s *Store) verdict(seen *view, c *limit.Charge, now time.Time, v *limit.Verdict) error {
	if seen == nil {
		var never [limit.MaxLimits]limit.State
		limit.Judge(never[:], c, now, v)
		return nil
	}
	if s.opts.Confirmed() && ahead(seen, c, now) {
		return ErrAhead
	}
	limit.Judge(seen.states, c, now, v)
	return nil
}

// fresh reports whether a view may deny on its own. One from later than now was dated by a clock put back since, or by
// one that a little earlier callers do not share.
func fresh(seen *view, now time.Time) bool {
	age := now.Sub(seen.seen)
	return -viewLife <= age && age <= viewLife
}

// ahead reports whether a limit was charged later than any honest clock could have charged it.
func ahead(seen *view, c *limit.Charge, now time.Time) bool {
	for i := range c.Limits {
		l, state := &c.Limits[i], &seen.states[i]
		h, inSlots := state.Newest()
		if inSlots && l.Until(h, now) > aheadLife+l.Granularity || l.Bucket() && state.Expiry(l, now) > aheadLife+l.Drain() {
			return true
		}
	}
	return false
}

// effect is what came of a write.
type effect uint8

const (
	wrote       effect = iota
	unproven           // refused by its condition
	forestalled        // refused, with nothing learned, because a transaction is on the item
)

// send makes one conditional write. It returns the state of the item afterwards, written or refused; nil if there is none.
func (s *Store) send(ctx context.Context, now time.Time, c *limit.Charge, x *expression) (after *view, came effect, err error) {
	s.writes.Add(1)
	out, err := s.api.UpdateItem(ctx, x.input(s.table, c.Key))
	old, failed := conditionFailed(err)
	switch {
	case failed:
		after, err = s.keep(c, old, now)
		return after, unproven, err
	case inTransaction(err):
		return nil, forestalled, nil
	case err != nil:
		return nil, unproven, Translate(err, s.table)
	}
	after, err = s.keep(c, out.Attributes, now)
	return after, wrote, err
}

// keep reads an item that DynamoDB has answered with, and keeps it as the view; nil if there is none.
func (s *Store) keep(c *limit.Charge, item map[string]types.AttributeValue, now time.Time) (*view, error) {
	if len(item) == 0 {
		s.views.drop(c.Key)
		return nil, nil
	}
	seen, err := readView(item, c.Limits, now)
	if err != nil {
		return nil, err
	}
	s.views.put(c.Key, seen)
	return seen, nil
}

// read gets the item as it is now; nil if there is none.
func (s *Store) read(ctx context.Context, now time.Time, c *limit.Charge) (*view, error) {
	s.reads.Add(1)
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(s.table), Key: itemKey(c.Key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, Translate(err, s.table)
	}
	return s.keep(c, out.Item, now)
}

// tampered returns an error if an item that a charge was written to cannot be what the charge has left. The write rules
// that out, unless something else has changed the item: the charge is not admitted then.
func tampered(after *view, c *limit.Charge, now time.Time) error {
	for i, cost := range c.Costs {
		if l := &c.Limits[i]; cost != 0 && !after.states[i].Holds(l, now, cost) {
			return fmt.Errorf("%w: limit %q holds less than the %d units just charged, or more than its capacity of %d",
				ErrForeign, l.Name, cost, l.Most())
		}
	}
	return nil
}
