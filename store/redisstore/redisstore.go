// Package redisstore keeps the counters of package slidegate in Redis 6.2 or
// later, or in Valkey, so that all processes share their limits. A named
// limiter in memory moves to Redis by one option:
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
//	lim, err := slidegate.New(
//		slidegate.SlidingWindow(100, time.Minute), slidegate.WithName("api"),
//		slidegate.WithStore(redisstore.New(client)),
//	)
//
// # Cost
//
// An admission is one call of a script, and one round trip. The script takes 3
// to 15 µs of the server's only thread, or 53 µs for a log of 1,000 requests.
// System calls come on top. A denial costs nothing while an earlier answer
// proves it, for at most ten seconds. A counter of 60 slots takes up to 1.7 KB,
// and expires an hour after its windows.
//
// # Permissions
//
// A restricted user needs ~slidegate:* +eval +evalsha +hgetall +hmget +hset
// +pexpire +time +del, and what the client itself calls: +select for a database
// other than 0, +cluster|slots, +command and +asking in a Cluster.
//
// # Servers
//
//   - Sentinel: a client by redis.NewFailoverClient works. Replication is
//     asynchronous, so a failover may admit the last requests once more.
//   - Cluster: one key and all its limits live on one node. Rules of a Gate that
//     are charged together (Atomic) live on several, so that such requests fail:
//     make them limits of one rule.
//   - Ring: the same holds. A changed number of servers moves keys to servers
//     that have not counted them.
//   - A proxy that spreads keys over servers does not work: it sends a call to the
//     server of its first key, where those of other rules are not counted.
//   - Eviction: any maxmemory-policy but noeviction may delete live counters.
package redisstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
	store "github.com/slidegate/slidegate/internal/store/redis"
)

// Store keeps counters in one Redis database or Cluster. It is safe for
// concurrent use, also by many processes at once. It is made for
// slidegate.WithStore.
//
// Trade-off: an admission costs a round trip. A denial that an earlier answer
// proves costs none, so for at most ten seconds the store may miss a Reset or a
// refund by another process, and over-deny. A server that loses writes admits as
// many units more.
//
// After five calls in a row without an answer the store makes none for a second
// at a time, and fails at once: the error policy then decides without a wait.
//
// Errors say what to do about them: a server that cannot be reached or is too
// old, a user without permissions, a full memory. A request under a Limiter's
// error policy only logs them. So that a program notices them when it starts,
// and has a connection by then, have it call Peek of the Limiter, which always
// returns the error. Give the context a deadline of some seconds: connecting may
// take longer than the 250 ms that a Limiter's first decision has.
type Store struct{ driver limit.Store }

// Driver is for package slidegate.
func (s *Store) Driver() limit.Store { return s.driver }

type options struct {
	store.Options
	log *slog.Logger
}

// Option sets up a Store.
type Option func(*options)

// WithCallerClock decides by the times that callers give, as tests and replays
// need with slidegate.WithClock or AllowAt. Otherwise the server's clock
// decides, which all callers share.
func WithCallerClock() Option { return func(o *options) { o.CallerClock = true } }

// WithLogger replaces slog.Default for messages about a server that stops
// answering, or answers again.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// New returns a store over a client of a server, of a Cluster or of Sentinel.
// It makes no call yet, and neither changes nor closes the client.
//
// The store sends a command once, whatever MaxRetries says: a charge that was
// sent twice could count twice. The client repeats your own commands as before.
//
// Set ContextTimeoutEnabled in the client's options. Without it go-redis
// ignores the deadlines of calls. The store then gives each call to one server
// timeouts of its own, which takes 1 to 2 µs. For a Cluster or a Ring it waits in
// a goroutine for each call, which takes some 13 µs, and a call that outlives its
// deadline occupies a connection until the client's ReadTimeout.
func New(client redis.UniversalClient, opts ...Option) *Store {
	o := options{store.Options{Clock: clock.Machine(time.Now)}, slog.Default()}
	for _, set := range opts {
		set(&o)
	}
	o.Breaker = breaker.New(time.Now, breaker.LogChanges(o.log, "redis"))
	var calls store.Client = client
	switch c := client.(type) {
	case *redis.Client:
		o.OneServer = true
		if !c.Options().ContextTimeoutEnabled {
			calls = deadlines{c}
		}
	case *redis.ClusterClient:
		o.Unbounded = !c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		o.Unbounded = !c.Options().ContextTimeoutEnabled
	default:
		o.Unbounded = true
	}
	counters := store.New(calls, o.Options)
	if _, ok := client.(*redis.Ring); ok {
		return &Store{ring{counters}}
	}
	return &Store{counters}
}

// deadlines makes calls by copies of a client that ignores the deadlines of its
// calls. The copies share its connections. A round trip of several calls has the
// client's own timeouts: the store waits no longer than each call's deadline.
type deadlines struct{ *redis.Client }

// Process makes a call with timeouts that end at its deadline.
func (c deadlines) Process(ctx context.Context, cmd redis.Cmder) error {
	client := c.Client
	if end, ok := ctx.Deadline(); ok {
		left, own := max(time.Until(end), time.Nanosecond), client.Options().ReadTimeout
		if own <= 0 || left < own {
			client = client.WithTimeout(left)
		}
	}
	return client.Process(ctx, cmd)
}

// ring counts on the servers of a Ring.
type ring struct{ *store.Store }

// ChargeAll charges one key, and fails for several: a Ring sends a script to the
// server of its first key, where the others are not counted.
func (r ring) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if len(cs) > 1 {
		return store.ErrApart
	}
	return r.Store.ChargeAll(ctx, now, cs, vs)
}
