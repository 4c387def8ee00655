package storetest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Reference is the specification as a store: package limit on counters that
// never expire. Run compares other stores with it, and it passes the suite
// itself. It is safe for concurrent use.
type Reference struct {
	mu          sync.Mutex
	counters    map[string]counter
	generations int
}

// generation is how a receipt names a counter's generation.
type generation struct {
	mark   string
	serial uint64
}

// generationOf returns the generation that a receipt names. One that begins with
// the slots of another has its mark, and a plus.
func generationOf(r *limit.Receipt) generation {
	return generation{strings.Split(r.Generation, "+")[0], r.Serial}
}

// counter is one generation of a key, with a state for each limit.
type counter struct {
	generation generation
	named      bool // the store under test has named the generation
	states     []limit.State
	holds      *limit.Holds
}

// NewReference returns a store without counters.
func NewReference() *Reference { return &Reference{counters: map[string]counter{}} }

// Charge takes the costs from all limits of the key or from none.
func (s *Reference) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.ChargeAll(ctx, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// ChargeAll makes all charges or none.
func (s *Reference) ChargeAll(_ context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	if err := limit.CheckAll(cs, vs); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed := true
	for i, c := range cs {
		ct := s.read(c)
		limit.Decide(ct.states, ct.holds, c, now, vs[i])
		if vs[i].Before != nil {
			vs[i].Receipt.Generation = ct.generation.mark
		}
		allowed = allowed && vs[i].Allowed
	}
	for i, c := range cs {
		if allowed && c.Takes(vs[i]) {
			ct := s.counter(c)
			limit.Take(ct.states, ct.holds, c, now, vs[i])
			vs[i].Receipt.Generation = ct.generation.mark
		}
	}
	return nil
}

// read returns the charge's counter, without creating one.
func (s *Reference) read(c *limit.Charge) counter {
	if ct, ok := s.counters[c.Key]; ok {
		return ct
	}
	return counter{states: make([]limit.State, len(c.Limits))}
}

// counter returns the charge's counter, and creates it if there is none.
func (s *Reference) counter(c *limit.Charge) counter {
	ct, ok := s.counters[c.Key]
	if !ok {
		s.generations++
		ct = counter{generation{mark: strconv.Itoa(s.generations)}, false, make([]limit.State, len(c.Limits)), &limit.Holds{}}
		s.counters[c.Key] = ct
	}
	return ct
}

// Denies reports, without charging, whether the charge would be denied; if so v
// holds the denial.
func (s *Reference) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return s.Peek(context.Background(), now, c, v) == nil && !v.Allowed
}

// Peek fills in what the charge would get now. It changes nothing.
func (s *Reference) Peek(_ context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ct := s.read(c)
	limit.Decide(ct.states, ct.holds, c, now, v)
	return nil
}

// Settle corrects a charge in the generation that its receipt names. The
// receipt of a charge of zero cost names none, and an extra charge then goes to
// any generation.
func (s *Reference) Settle(_ context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch gone := r.Generation != "" && s.counters[c.Key].generation != generationOf(r); {
	case gone && r.Hold != 0:
		return limit.ErrReset
	case !gone && (r.Generation != "" || slices.Max(deltas) > 0):
		ct := s.counter(c)
		return limit.Settle(ct.states, ct.holds, c, now, r, deltas)
	}
	return nil
}

// Renew moves the end of a hold.
func (s *Reference) Renew(_ context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	if err := c.CheckRenewal(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters[c.Key].generation != generationOf(r) {
		return limit.ErrReset
	}
	return s.counters[c.Key].holds.Renew(r, c.Hold.Until(now))
}

// Reset deletes the key's counter.
func (s *Reference) Reset(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counters, key)
	return nil
}
