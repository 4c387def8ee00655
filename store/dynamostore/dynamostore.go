// Package dynamostore keeps the counters of package slidegate in DynamoDB, so
// that all processes and Lambdas share their limits. A named limiter in
// memory moves to DynamoDB by one option:
//
//	store := dynamostore.New(dynamodb.NewFromConfig(cfg), "counters")
//	lim, err := slidegate.New(
//		slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"),
//		slidegate.WithStore(store),
//	)
//
// # Cost
//
// An admitted request is one conditional write and one round trip of a few
// milliseconds. Only a bucket that several processes share may need a second
// write: 16 processes take 1.1 to 1.7 writes for a charge. A limit of 60 slots
// takes 0.6 KB, so a write is one write unit. A denial is free while an earlier answer proves it, for up to
// ten seconds. Otherwise it is one read or one refused write. Rules that are
// charged together (Atomic) write a transaction, which costs twice as much.
// DynamoDB takes 1,000 write units a second for one key.
//
// # Permissions
//
// The role needs dynamodb:GetItem and dynamodb:UpdateItem on the table,
// dynamodb:DeleteItem for Reset, and for [Store.CreateTable]
// dynamodb:CreateTable, DescribeTable, DescribeTimeToLive and UpdateTimeToLive. A
// backend that has limithttp.SettleMiddleware alone needs UpdateItem.
package dynamostore

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// Store keeps counters in one table. It is safe for concurrent use, also by
// many processes at once. It is made for slidegate.WithStore.
//
// Trade-off: windows stay exact across processes. For at most ten seconds a
// process may not notice that another has refunded units or reset a key, so it
// may deny too much. It never admits too much.
//
// After five calls in a row without an answer the store makes none for a second
// at a time, and fails at once: the error policy then decides without a wait.
//
// Errors name the table and what to do about them: a table that does not exist,
// a missing region, missing credentials or permissions, throttling, an address
// that does not answer. A request under a Limiter's error policy only logs them.
// So that a program notices them when it starts, have it call
// [Store.CreateTable], or Peek of the Limiter, which always returns the error.
// Give the context a deadline of some seconds: connecting and finding credentials
// may take longer than the 250 ms that a Limiter's first decision has.
type Store struct {
	counters *dynamo.Store
	client   *dynamo.Client
	table    string
}

// Driver is for package slidegate.
func (s *Store) Driver() limit.Store { return s.counters }

// Option sets up a Store.
type Option func(*options)

type options struct {
	log         *slog.Logger
	callerClock bool
}

// WithLogger replaces slog.Default for messages about a table that stops
// answering or answers again, and about a machine whose clock is wrong, or was
// set.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithCallerClock accepts any time that callers give, as tests and replays need
// with slidegate.WithClock or AllowAt. Otherwise the store takes their times for
// the present, and a counter that is far ahead of the present is an error: a
// wrong clock has charged it. DynamoDB expires counters by the
// real time in either case.
func WithCallerClock() Option { return func(o *options) { o.callerClock = true } }

// New returns a store over a table, which [Store.CreateTable] creates. It makes
// no call yet.
//
// New leaves your client as it is, and makes a client of its own from the same
// settings, with three differences:
//   - The SDK never retries. A charge that was sent twice could count twice, so
//     the error policy of the limiter decides instead. An HTTP client of your
//     own must not retry either.
//   - Most writes go past the SDK's middleware, which saves more than half of
//     their CPU. They do not if your client has middleware (APIOptions),
//     interceptors, an endpoint resolver, a tracer, a meter or a log mode of its
//     own.
//   - The Date of every answer corrects the store's clock, see [Store.Now].
//
// If you share one HTTP client between clients, it is shared with this one too.
// The SDK's own HTTP client keeps only ten idle connections, and dials any
// number. For more requests at once give it more, and bound them, so that
// connects which hang do not pile up:
//
//	config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
//		t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 64, 128
//	}))
func New(client *dynamodb.Client, table string, opts ...Option) *Store {
	o := options{log: slog.Default()}
	for _, set := range opts {
		set(&o)
	}
	own := dynamo.NewClient(client, time.Now).Guarded(breaker.New(time.Now, breaker.LogChanges(o.log, "dynamodb://"+table)), 0)
	own.Clock.OnStep(oplog.LogClockSteps(o.log))
	settings := dynamo.Options{Wall: own.Clock.Now, Confirmed: own.Clock.Confirmed}
	if o.callerClock {
		settings.Confirmed = nil
	}
	return &Store{dynamo.New(own, table, settings), own, table}
}

// Now returns the machine's time corrected by DynamoDB's, as the Date of its
// answers shows it. Limiters with this store decide by it: processes whose
// clocks differ would shorten each other's windows by as much. The first answer
// that contradicts the machine's clock changes nothing; the second corrects it.
func (s *Store) Now() time.Time { return s.client.Clock.Now() }

// CreateTable creates the table, on demand and with expiry of old counters, and
// waits until it can be used: some seconds, and two minutes at most. It changes
// nothing about a table that exists, but switches expiry on if it is off. Any
// number of processes may call it at once.
//
// It fails if the table expires items by another attribute than "ttl". A table
// of your own templates needs the partition key "k", a string, no sort key, and
// expiry by "ttl", a number.
func (s *Store) CreateTable(ctx context.Context) error {
	_, err := s.client.Create(ctx, dynamo.CountersTable(s.table))
	return err
}
