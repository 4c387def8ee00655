package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Step is the specification as a store: limit's step on counters that never expire. It is what Run holds other stores
// against, and passes the suite itself. It is safe for concurrent use.
type Step struct {
	mu       sync.Mutex
	counters map[string]*counter
	lives    int
}

// counter is the state of one key, one for each limit, in one life.
type counter struct {
	life   string
	named  bool // another store has named the life
	states []limit.State
}

// NewStep returns a store without counters.
func NewStep() *Step { return &Step{counters: map[string]*counter{}} }

// Steps is the harness of the Step store.
func Steps(*testing.T) Harness {
	step := NewStep()
	return Harness{Client: func(testing.TB) Store { return step }, Rounds: 5}
}

// Charge takes the costs from all limits of the key or from none.
func (s *Step) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.ChargeAll(ctx, now, []*limit.Charge{c}, []*limit.Verdict{v})
}

// ChargeAll makes all charges or none.
func (s *Step) ChargeAll(_ context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
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
		if allowed && !c.Free() {
			ct := s.counter(c)
			limit.Take(ct.states, c, now, vs[i])
			vs[i].Receipt.Generation = ct.life
		}
	}
	return nil
}

// states returns the states of the charge's counter, without making one.
func (s *Step) states(c *limit.Charge) []limit.State {
	if ct := s.counters[c.Key]; ct != nil {
		return ct.states
	}
	return make([]limit.State, len(c.Limits))
}

// counter returns the charge's counter, and makes it if there is none.
func (s *Step) counter(c *limit.Charge) *counter {
	ct := s.counters[c.Key]
	if ct == nil {
		s.lives++
		ct = &counter{strconv.Itoa(s.lives), false, make([]limit.State, len(c.Limits))}
		s.counters[c.Key] = ct
	}
	return ct
}

// Denies reports, without charging, whether the charge would be denied; if so v holds the denial.
func (s *Step) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return s.Peek(context.Background(), now, c, v) == nil && !v.Allowed
}

// Peek says what the charge would get now. It changes nothing.
func (s *Step) Peek(_ context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit.Decide(s.states(c), c, now, v)
	return nil
}

// Settle corrects a charge. In another life of the counter than the receipt's nothing is corrected; a receipt of a
// charge that took nothing has no life, and what is then charged more is charged to any.
func (s *Step) Settle(_ context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ct := s.counters[c.Key]; r.Generation != "" && (ct == nil || ct.life != r.Generation) {
		return nil
	}
	if r.Generation != "" || slices.Max(deltas) > 0 {
		limit.Settle(s.counter(c).states, c, now, r, deltas)
	}
	return nil
}

// Reset forgets the key: its next charge starts afresh.
func (s *Step) Reset(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counters, key)
	return nil
}
