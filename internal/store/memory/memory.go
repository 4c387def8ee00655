// Package memory keeps counters in this process: the store for one machine, for
// replays, and for times when DynamoDB does not answer.
package memory

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// ErrFull is returned for a new key if live counters fill the store. The store
// never evicts a live counter: otherwise a client could free itself and others
// from their limits by a flood of made-up keys.
//
// A counter is live by the latest time that the store was given. One call with
// a clock an hour ahead ends the windows of all counters.
var ErrFull = fmt.Errorf("memory store is full of live keys: %w", limit.ErrUndecided)

// DefaultMaxKeys is the default bound. A key takes about 115 bytes beside its
// text, and 16 bytes for each slot in use after the first: at most 1.2 KB with
// one limit of 60 slots.
const DefaultMaxKeys = 250_000

const shardCount = 64 // a power of two

// Store holds counters in shards, each behind its own mutex. It is safe for
// concurrent use; a charge is atomic over the limits of its key.
//
// Trade-off: nothing is shared with other processes or survives a restart. In
// return a decision takes less than a microsecond. It does not allocate for a
// known key whose slots have been used before.
type Store struct {
	shards [shardCount]shard // first, so that each begins with a line of the cache
	seed   maphash.Seed
	others uint64 // 0 if all keys are in the first shard, else all bits
}

// New returns a store for at most maxKeys keys, or 64 if that is fewer; 0
// stands for DefaultMaxKeys. The shards share the bound evenly, so the store
// reports ErrFull once the fullest shard is full: at about 96% of 250,000 keys,
// 80% of 10,000.
func New(maxKeys int) *Store {
	if maxKeys <= 0 {
		maxKeys = DefaultMaxKeys
	}
	return newStore(max(1, maxKeys/shardCount), math.MaxUint64)
}

// NewSequential returns a store for exactly maxKeys keys whose verdicts depend on
// its calls alone. With several shards, which keys share one differs by process,
// and so does which counters a key drops when its clock is far ahead of theirs.
// Replays need the same totals each time. Concurrent callers wait for each other.
func NewSequential(maxKeys int) *Store { return newStore(maxKeys, 0) }

func newStore(bound int, others uint64) *Store {
	s := &Store{seed: maphash.MakeSeed(), others: others}
	for i := range s.shards {
		s.shards[i].index, s.shards[i].newest, s.shards[i].bound = i, math.MinInt64, bound
	}
	return s
}

// shard returns the shard of a key, and the key's hash within it.
func (s *Store) shard(key string) (sh *shard, hash uint32) {
	h := maphash.String(s.seed, key)
	return &s.shards[h%shardCount&s.others], uint32(h >> 32)
}

// Charge takes the costs from all limits of the key or from none. It fails with
// ErrFull if a new key finds no room.
func (s *Store) Charge(_ context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	sh, hash := s.shard(c.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.charge(c, hash, now, v)
}

// ChargeAll takes the costs of several counters or of none. The keys must
// differ. If one of the charges is denied, nothing is charged, and the other
// verdicts are as Peek would return them.
func (s *Store) ChargeAll(_ context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	unlock := s.lock(cs)
	defer unlock()
	for _, c := range cs {
		if sh, hash := s.shard(c.Key); sh.table.find(hash, c.Key) == nil {
			sh.reclaim(now, len(cs), sh.boundFor(c.Key)) // before any decision, because it may drop their counters
		}
	}
	var counters [limit.MaxLimits]*counter
	allowed := true
	for i, c := range cs {
		sh, hash := s.shard(c.Key)
		var err error
		if counters[i], err = sh.counter(c, hash); err != nil {
			return err
		}
		limit.Decide(counters[i].states(), counters[i].holds(), c, now, vs[i])
		allowed = allowed && vs[i].Allowed
	}
	if !allowed {
		return nil
	}
	for i, c := range cs {
		if sh, _ := s.shard(c.Key); counters[i].link == nil && c.Takes(vs[i]) {
			if err := sh.add(counters[i], now); err != nil {
				for _, added := range counters[:i] {
					if added.link == nil {
						sh, hash := s.shard(added.key)
						sh.drop(hash, added.key)
					}
				}
				return err
			}
		}
	}
	for i, c := range cs {
		if sh, _ := s.shard(c.Key); counters[i].apply(c, now, vs[i]) {
			sh.charged(counters[i], now, vs[i])
		}
	}
	return nil
}

// lock locks the shards of all keys, in the order of the shards, so that two
// callers never wait for each other.
func (s *Store) lock(cs []*limit.Charge) (unlock func()) {
	var mine [shardCount]bool
	for _, c := range cs {
		sh, _ := s.shard(c.Key)
		mine[sh.index] = true
	}
	for i := range s.shards {
		if mine[i] {
			s.shards[i].mu.Lock()
		}
	}
	return func() {
		for i := range s.shards {
			if mine[i] {
				s.shards[i].mu.Unlock()
			}
		}
	}
}

// Denies reports, without charging, whether the charge would be denied; if so,
// v is the denial.
func (s *Store) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return s.Peek(context.Background(), now, c, v) == nil && !v.Allowed
}

// Peek returns in v what the charge would get now. It changes nothing.
func (s *Store) Peek(_ context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	sh, hash := s.shard(c.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	ct, err := sh.counter(c, hash)
	if err == nil {
		limit.Decide(ct.states(), ct.holds(), c, now, v)
	}
	return err
}

// Settle corrects an earlier charge by deltas, one for each of its limits. A
// negative delta refunds units while their slot still counts. A positive one
// charges more, whatever the capacity, so that later requests pay. A counter
// that was reset since does not change, unless the charge had zero cost.
func (s *Store) Settle(_ context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	sh, hash := s.shard(c.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	ct := sh.table.find(hash, c.Key)
	if ct == nil && r.Generation == "" && r.Hold == 0 && slices.Max(deltas) > 0 {
		ct = newCounter(c, hash)
		if err := sh.add(ct, now); err != nil {
			return err
		}
	}
	switch gone := ct == nil || r.Generation != "" && !ct.owns(r); {
	case gone && r.Hold != 0 && r.Generation == "": // a charge whose answer was lost may not have been made
		return limit.ErrClosed
	case gone && r.Hold != 0:
		return limit.ErrReset
	case gone: // and there is nothing to correct any more
		return nil
	}
	if err := ct.fits(c); err != nil {
		return err
	}
	if err := limit.Settle(ct.states(), ct.holds(), c, now, r, deltas); err != nil {
		return err
	}
	sh.keep(ct, now, ct.expiry(c, now))
	return nil
}

// Renew moves the end of a charge's hold, unless a later call has.
func (s *Store) Renew(_ context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	if err := c.CheckRenewal(r); err != nil {
		return err
	}
	sh, hash := s.shard(c.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	ct := sh.table.find(hash, c.Key)
	if !ct.owns(r) {
		return limit.ErrReset
	}
	if err := ct.fits(c); err != nil {
		return err
	}
	if err := ct.holds().Renew(r, c.Hold.Until(now)); err != nil {
		return err
	}
	sh.keep(ct, now, ct.expiry(c, now))
	return nil
}

// Len returns how many keys have a counter.
func (s *Store) Len() (n int) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += sh.table.n
		sh.mu.Unlock()
	}
	return n
}

// Reset drops the key's counter; its next request starts a new one.
func (s *Store) Reset(_ context.Context, key string) error {
	sh, hash := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.drop(hash, key)
	return nil
}
