// Package redis keeps counters in Redis 6.2 or later, or in Valkey: one script
// call, and one round trip, for each decision that an earlier answer does not
// prove already. It is for users who run a Redis already and want decisions
// within a fraction of a millisecond.
//
// A counter is one hash. The script reads what the decision needs of it, decides,
// and writes what an admission changes, atomically. It returns the state by which
// it decided; package limit computes the rest of the verdict from that state. So
// only the yes or no of each algorithm is written twice. See docs/redis.md.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/breaker"
)

// prefix starts every key of this package. The number is that of the stored
// format: a process of an earlier version must not read a counter of this one. In
// a Cluster the empty braces make the whole key decide which node has it ("Hash
// tags" in the Redis Cluster specification). Without them, braces in a client's
// part of the key would decide, and a client could put all of its counters on one
// node.
const prefix = "slidegate:2:{}"

// Client is the part of go-redis that the store calls.
type Client interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
}

// Options set up a Store. The zero value is usable.
type Options struct {
	// CallerClock has the caller's time decide, as replays and tests need.
	// Otherwise the server's clock decides: all callers share it, and a
	// caller's clock only has to be right to a day.
	CallerClock bool
	// Clock has the store deny without a call what an earlier answer proves. It
	// reads this machine's clocks, by which the store knows the server's; with
	// CallerClock the caller's time takes its place. nil makes every denial a
	// call.
	Clock clock.Source
	// OneServer says that the client is of one server, and not of a Cluster or a
	// Ring. Then the engine charges all rules of a request in one call, and
	// concurrent calls share round trips.
	OneServer bool
	// Unbounded says that the client's calls may outlast their context, as those
	// of go-redis do without ContextTimeoutEnabled. The store then returns when
	// the context ends, and leaves the call to the client's own timeouts.
	Unbounded bool
	// Breaker guards the calls; nil for none.
	Breaker *breaker.Breaker
	// NewGeneration returns a mark that no other generation of a counter has, of
	// at most 255 bytes; nil stands for 130 random bits of the process and a
	// number.
	NewGeneration func() string
}

// Store keeps counters in one Redis database or Cluster. It is safe for
// concurrent use, also by many processes at once.
//
// Trade-off: an admission costs a round trip. A denial that an earlier answer
// proves costs none. For at most ten seconds the store may miss that units were
// refunded, so it may over-deny. It never over-admits, unless the server loses
// writes: a crash between two saves loses them, or a failover to a replica
// behind.
type Store struct {
	client    Client
	opts      Options
	snapshots *snapshots  // nil for none
	apart     atomic.Bool // the server has refused several keys at once
}

// New returns a store over a client, which must not repeat commands on its own:
// see Open.
func New(client Client, opts Options) *Store {
	if opts.NewGeneration == nil {
		opts.NewGeneration = generations()
	}
	if opts.Unbounded {
		client = unbounded{client}
	} else if p, ok := client.(pipeliner); ok && opts.OneServer {
		client = &pipelined{pipeliner: p, maxWait: maxWait}
	}
	if opts.Breaker != nil {
		client = guarded{client, opts.Breaker}
	}
	return &Store{client: client, opts: opts, snapshots: newSnapshots(opts)}
}

// generations returns marks of this process: random bits, and a number.
func generations() func() string {
	var last atomic.Uint64
	process := rand.Text()
	return func() string { return process + strconv.FormatUint(last.Add(1), 36) }
}

// Batches reports whether the engine is to charge all rules of a request in one
// call. A server that refuses several keys is a Cluster's, and is not asked again.
func (s *Store) Batches() bool { return s.opts.OneServer && !s.apart.Load() }

// Charge takes the costs from all limits of the key or from none. An error
// means that the store admitted nothing and has no answer. If the answer was
// lost, the charge may still have been made.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if s.Denies(now, c, v) {
		v.Snapshot = true
		return nil
	}
	return s.decide(ctx, modeCharge, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// ChargeAll charges one to eight keys, all or none. In a Cluster it fails with
// ErrApart, because the keys live in different hash slots.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	err := s.decide(ctx, modeCharge, now, cs, vs)
	if errors.Is(err, ErrApart) {
		s.apart.Store(true)
	}
	return err
}

// Denies reports, without any call, whether an earlier answer proves that the
// charge would be denied; if so v holds the denial.
func (s *Store) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return s.snapshots != nil && c.Check() == nil && s.snapshots.denies(now, c, v)
}

// Peek returns in v what the charge would get now. It changes nothing.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.decide(ctx, modePeek, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// Settle corrects an earlier charge by deltas, one for each of its limits. A
// negative delta refunds units that are still in the slot; a positive one
// charges more whatever the capacity, so that later requests pay. A counter
// that was deleted since is left alone. If the answer is lost, nothing is sent
// again: refunding twice would let too much through. The caller may send again
// what closes a hold.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	return s.settle(ctx, now, c, r, deltas, 0)
}

// Renew moves the end of a charge's hold, unless a later call has.
func (s *Store) Renew(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	if err := c.CheckRenewal(r); err != nil {
		return err
	}
	return s.settle(ctx, now, c, r, make([]int64, len(c.Limits)), c.Hold.For)
}

// settle corrects a charge. It closes the hold of the receipt, or has it last for
// some time from now.
func (s *Store) settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64, renewed time.Duration) error {
	if err := check(c); err != nil {
		return err
	}
	defer s.snapshots.drop(c.Key)
	var needs kinds
	words := []any{nil, nil, 1, prefix + c.Key, counter(now, c, s.opts.NewGeneration(), deltas, limit.Opening{ID: r.Hold, For: renewed, Most: r.Opened}, &needs)}
	words = append(words, common(modeSettle, now, s.opts.CallerClock), receipt(c, r))
	answer, err := scriptOf(needs).run(ctx, s.client, words)
	switch answer {
	case "closed":
		return limit.ErrClosed
	case "reset":
		return limit.ErrReset
	}
	return translate(err)
}

// Reset deletes the counter; the key's next request starts a new one, in every
// process within ten seconds. It is for operators: a full window is empty after
// it.
func (s *Store) Reset(ctx context.Context, key string) error {
	defer s.snapshots.drop(key)
	_, err := call(ctx, s.client, []any{"del", prefix + key})
	return translate(err)
}
