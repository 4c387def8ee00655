// Package redis keeps counters in Redis 6.2 or later, or in Valkey: one script
// call, and one round trip, for each decision. It is for users who run a Redis
// already and want decisions within a fraction of a millisecond.
//
// A counter is one hash. The script reads it, decides, and writes what an
// admission changes, atomically. It returns the state by which it decided;
// package limit computes the rest of the verdict from that state. So only the
// yes or no of each algorithm is written twice. See docs/redis.md.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/limit"
)

// prefix starts every key of this package. In a Cluster the empty braces make
// the whole key decide which node has it ("Hash tags" in the Redis Cluster
// specification). Without them, braces in a client's part of the key would
// decide, and a client could put all of its counters on one node.
const prefix = "slidegate:{}"

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
	// Unbounded says that the client's calls may outlast their context, as those
	// of go-redis do without ContextTimeoutEnabled. The store then returns when
	// the context ends, and leaves the call to the client's own timeouts.
	Unbounded bool
	// Breaker guards the calls; nil for none.
	Breaker *breaker.Breaker
	// NewGeneration returns a mark that no other generation of a counter has;
	// nil stands for 130 random bits.
	NewGeneration func() string
}

// Store keeps counters in one Redis database or Cluster. It is safe for
// concurrent use, also by many processes at once.
//
// Trade-off: every decision costs a round trip, denials too, and none is stale.
// A server that loses writes admits as many units more: a crash between two
// saves loses them, or a failover to a replica behind.
type Store struct {
	client Client
	opts   Options
}

// New returns a store over a client, which must not repeat commands on its own:
// see Open.
func New(client Client, opts Options) *Store {
	if opts.NewGeneration == nil {
		opts.NewGeneration = rand.Text
	}
	if opts.Unbounded {
		client = unbounded{client}
	}
	if opts.Breaker != nil {
		client = guarded{client, opts.Breaker}
	}
	return &Store{client, opts}
}

// Charge takes the costs from all limits of the key or from none. An error
// means that the store admitted nothing and has no answer. If the answer was
// lost, the charge may still have been made.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.decide(ctx, modeCharge, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// ChargeAll charges one to eight keys, all or none. In a Cluster it fails with
// ErrApart, because the keys live in different hash slots.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	return s.decide(ctx, modeCharge, now, cs, vs)
}

// Denies reports false: without a round trip, the store has no counters.
func (s *Store) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

// Peek returns in v what the charge would get now. It changes nothing.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.decide(ctx, modePeek, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// Settle corrects an earlier charge by deltas, one for each of its limits. A
// negative delta refunds units that are still in the slot; a positive one
// charges more whatever the capacity, so that later requests pay. A counter
// that was deleted since is left alone. If the answer is lost, nothing is sent
// again: refunding twice would let too much through.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	if err := check(c); err != nil {
		return err
	}
	a := newArguments(modeSettle, now, s.opts.CallerClock).counter(now, c, s.opts.NewGeneration(), r, deltas)
	_, err := runScript(ctx, s.client, []string{prefix + c.Key}, a)
	return translate(err)
}

// Reset deletes the counter; the key's next request starts a new one. It is for
// operators: a full window is empty after it.
func (s *Store) Reset(ctx context.Context, key string) error {
	return translate(call(ctx, s.client, "del", prefix+key).Err())
}

// decide runs the script on the counters of some charges, and fills in the
// verdict of each.
func (s *Store) decide(ctx context.Context, mode string, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	keys := make([]string, len(cs))
	a := newArguments(mode, now, s.opts.CallerClock)
	for i, c := range cs {
		if err := check(c); err != nil {
			return err
		}
		keys[i] = prefix + c.Key
		a = a.counter(now, c, s.opts.NewGeneration(), &limit.Receipt{}, c.Costs)
	}
	reply, err := runScript(ctx, s.client, keys, a)
	if err != nil {
		return translate(err)
	}
	answer, err := readAnswer(reply)
	if err != nil {
		return err
	}
	denied := false
	for i, c := range cs {
		generation, states, err := answer.counter(c.Limits)
		if err != nil {
			return err
		}
		if answer.charged && !verified(answer.now, generation, states, c) {
			return errDisagree
		}
		if answer.charged && !c.ZeroCost() {
			limit.AfterCharge(states, generation, c, answer.now, vs[i])
		} else {
			limit.Decide(states, c, answer.now, vs[i])
		}
		denied = denied || !vs[i].Allowed
	}
	if answer.charged == denied && mode == modeCharge || answer.charged && mode != modeCharge {
		return errDisagree
	}
	return nil
}

// errDisagree is returned if the script and package limit decide differently on
// the same state. No state that the script wrote leads to it.
var errDisagree = errors.New("the script's decision contradicts the state that it returned")

// verified reports whether a counter's state is possible right after the charge.
// The counter must have a generation. Each charged limit must have at least the
// cost, and at most the limit's capacity.
func verified(now time.Time, generation string, states []limit.State, c *limit.Charge) bool {
	for i, cost := range c.Costs {
		if cost > 0 && (generation == "" || !states[i].Consistent(&c.Limits[i], now, cost)) {
			return false
		}
	}
	return true
}
