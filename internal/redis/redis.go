// Package redis keeps counters in Redis 6.2 or later, or in Valkey: one script call, and one round trip, for each
// decision. It is the store for those who run a Redis already, and want a decision within a fraction of a millisecond.
//
// A counter is one hash. The script reads it, decides, and writes what an admission changes, in one step that nothing comes
// between. It answers with the state by which it decided, and what is left and when to come again follows from that by
// internal/limit's own code: the algorithms are written twice only so far as they say yes or no. See docs/redis.md.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// prefix starts every key of this package. In a Cluster the empty braces make the whole key decide where it lives ("Hash
// tags" in the Redis Cluster specification): without them, braces in a client's part of the key would, and a client
// could have all of its counters pile up on one node.
const prefix = "slidegate:{}"

// Client is the part of go-redis that the store calls.
type Client interface {
	Process(ctx context.Context, cmd goredis.Cmder) error
}

// Options set up a Store. The zero value is usable.
type Options struct {
	// CallerClock has decisions made by the time that the caller gives, as replays and tests need it. Otherwise the
	// server's clock decides, the one clock that all callers share, and the caller's only has to be right to a day.
	CallerClock bool
	// NewGeneration returns a mark that no two lives of a counter share; nil stands for 130 random bits.
	NewGeneration func() string
}

// Store keeps counters in one Redis database or Cluster. It is safe for concurrent use, also by many processes at once.
//
// Trade-off: every decision costs a round trip, denials too, and none is ever stale. A server that loses writes, because
// it was killed between two saves or a replica behind it took over, forgets the charges in them and admits as much more.
type Store struct {
	client Client
	opts   Options
}

// New returns a store over a client, which must not send a command again on its own: see Open.
func New(client Client, opts Options) *Store {
	if opts.NewGeneration == nil {
		opts.NewGeneration = rand.Text
	}
	return &Store{client, opts}
}

// Charge takes the costs from all limits of the key or from none. An error means that the store cannot say: where the
// answer was lost, the charge may have been made, but nothing was admitted.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.decide(ctx, modeCharge, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// ChargeAll charges one to eight keys, all or none. In a Cluster keys live in different hash slots, hardly ever in the
// same: it fails there with ErrApart.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	return s.decide(ctx, modeCharge, now, cs, vs)
}

// Denies reports false: nothing is known without asking the server.
func (s *Store) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

// Peek says what the charge would get now. It changes nothing.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.decide(ctx, modePeek, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// Settle corrects an earlier charge by deltas, one for each of its limits: a negative one gives back what its slot still
// holds, a positive one charges more without asking, so that later requests pay. A counter that was deleted since is left
// alone. Where the answer was lost it is not sent again: giving back twice would let too much through.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	if err := check(c); err != nil {
		return err
	}
	a := newArguments(modeSettle, now, s.opts.CallerClock).correction(now, c, s.opts.NewGeneration(), r, deltas)
	_, err := runScript(ctx, s.client, []string{prefix + c.Key}, a)
	return translate(err)
}

// Reset deletes the counter: its next request starts afresh. It is for operators: a window that was full is empty after
// it.
func (s *Store) Reset(ctx context.Context, key string) error {
	cmd := once{goredis.NewCmd(ctx, "del", prefix+key)}
	return translate(s.client.Process(ctx, cmd))
}

// decide runs the script on the counters of some charges, and works out what it means for each.
func (s *Store) decide(ctx context.Context, mode string, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	keys := make([]string, len(cs))
	a := newArguments(mode, now, s.opts.CallerClock)
	for i, c := range cs {
		if err := check(c); err != nil {
			return err
		}
		keys[i] = prefix + c.Key
		a = a.charge(now, c, s.opts.NewGeneration())
	}
	reply, err := runScript(ctx, s.client, keys, a)
	if err != nil {
		return translate(err)
	}
	told, err := readAnswer(reply)
	if err != nil {
		return err
	}
	denied := false
	for i, c := range cs {
		life, states, err := told.counter(c.Limits)
		if err != nil {
			return err
		}
		if told.charged && !proves(told.now, life, states, c) {
			return errDisagree
		}
		verdict(told, life, states, c, vs[i])
		denied = denied || !vs[i].Allowed
	}
	if told.charged == denied && mode == modeCharge || told.charged && mode != modeCharge {
		return errDisagree
	}
	return nil
}

// errDisagree is returned where the script and internal/limit decide differently on the same state, which no state that
// the script has written brings about.
var errDisagree = errors.New("the script decided otherwise than its state says")

// proves reports whether a counter can be what a charge has just left: it has a life, and in each limit that was charged
// there is the cost, now or later, and no more than the limit allows.
func proves(now time.Time, life string, states []limit.State, c *limit.Charge) bool {
	for i, cost := range c.Costs {
		if cost > 0 && (life == "" || !states[i].Consistent(&c.Limits[i], now, cost)) {
			return false
		}
	}
	return true
}

// verdict works out what a counter's state means for the charge: what is left after it if it was made, else what it would
// get.
func verdict(told *answer, life string, states []limit.State, c *limit.Charge, v *limit.Verdict) {
	if told.charged && !c.Free() {
		limit.AfterCharge(states, life, c, told.now, v)
		return
	}
	limit.Decide(states, c, told.now, v)
}
