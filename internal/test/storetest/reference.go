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
		limit.Decide(s.states(c), c, now, vs[i])
		allowed = allowed && vs[i].Allowed
	}
	for i, c := range cs {
		if allowed && !c.ZeroCost() {
			ct := s.counter(c)
			limit.Take(ct.states, c, now, vs[i])
			vs[i].Receipt.Generation = ct.generation.mark
		}
	}
	return nil
}

// states returns the states of the charge's counter, without creating one.
func (s *Reference) states(c *limit.Charge) []limit.State {
	if ct, ok := s.counters[c.Key]; ok {
		return ct.states
	}
	return make([]limit.State, len(c.Limits))
}

// counter returns the charge's counter, and creates it if there is none.
func (s *Reference) counter(c *limit.Charge) counter {
	ct, ok := s.counters[c.Key]
	if !ok {
		s.generations++
		ct = counter{generation{mark: strconv.Itoa(s.generations)}, false, make([]limit.State, len(c.Limits))}
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
	limit.Decide(s.states(c), c, now, v)
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
	if r.Generation != "" && s.counters[c.Key].generation != generationOf(r) {
		return nil
	}
	if r.Generation != "" || slices.Max(deltas) > 0 {
		limit.Settle(s.counter(c).states, c, now, r, deltas)
	}
	return nil
}

// Reset deletes the key's counter.
func (s *Reference) Reset(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counters, key)
	return nil
}
