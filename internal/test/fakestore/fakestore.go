// Package fakestore is the store of tests. It counts in memory unless its hook
// fails, delays or answers a call, and it records all calls.
package fakestore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Op is a kind of call.
type Op string

// The kinds of calls. A charge of an atomic group is one call.
const (
	Charge Op = "charge"
	Peek   Op = "peek"
	Settle Op = "settle"
	Renew  Op = "renew"
	Reset  Op = "reset"
)

// Call is a call that a Store got.
type Call struct {
	Op     Op
	Ctx    context.Context
	Now    time.Time
	Keys   []string  // one for each charge
	Costs  [][]int64 // of the charges
	Deltas []int64   // of a settlement

	charges  []*limit.Charge
	verdicts []*limit.Verdict
	answered bool
}

// Rules returns the rules that the keys belong to.
func (c *Call) Rules() (rules []string) {
	for _, key := range c.Keys {
		rule, _, _ := strings.Cut(key, "|")
		rules = append(rules, rule)
	}
	return rules
}

// Answer has the Store answer the call without counting, by the results for
// limit i of each charge.
func (c *Call) Answer(result func(c *limit.Charge, i int) limit.Result) {
	for n, v := range c.verdicts {
		*v = limit.Verdict{}
		v.Resize(len(c.charges[n].Limits))
		for i := range v.Limits {
			v.Limits[i] = result(c.charges[n], i)
		}
		v.Result = limit.Combine(v.Limits)
	}
	c.answered = true
}

// Hook sees each call before the Store counts. If it returns an error, the call
// fails, and its verdict holds arbitrary values, as after an interrupted call.
type Hook func(*Call) error

// Fail fails all calls.
func Fail(err error) Hook { return func(*Call) error { return err } }

// Down fails the charges of some rules.
func Down(err error, rules ...string) Hook {
	return On(Charge, func(c *Call) error {
		if slices.ContainsFunc(c.Rules(), func(rule string) bool { return slices.Contains(rules, rule) }) {
			return err
		}
		return nil
	})
}

// Deny denies all charges by a wait, and counts nothing.
func Deny(retryAfter time.Duration) Hook {
	return func(c *Call) error {
		c.Answer(func(*limit.Charge, int) limit.Result { return limit.Result{RetryAfter: retryAfter} })
		return nil
	}
}

// Hang answers when the context ends.
func Hang(c *Call) error {
	<-c.Ctx.Done()
	return c.Ctx.Err()
}

// On applies a hook to the calls of one kind.
func On(op Op, hook Hook) Hook {
	return func(c *Call) error {
		if c.Op != op {
			return nil
		}
		return hook(c)
	}
}

// Store counts in memory. It is safe for concurrent use, if its hook is.
type Store struct {
	Hook       Hook // nil for none
	NoSnapshot bool // Denies returns false

	counters *memory.Store
	mu       sync.Mutex
	calls    []Call
}

// New returns a store with a hook; nil for none.
func New(hook Hook) *Store { return &Store{Hook: hook, counters: memory.New(0)} }

// Calls returns the calls of some kinds so far.
func (s *Store) Calls(ops ...Op) (calls []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if slices.Contains(ops, c.Op) {
			calls = append(calls, c)
		}
	}
	return calls
}

// Count returns the number of calls of one kind so far.
func (s *Store) Count(op Op) int { return len(s.Calls(op)) }

// Charge records and counts a charge.
func (s *Store) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.call(&Call{Op: Charge, Ctx: ctx, Now: now}, []*limit.Charge{c}, []*limit.Verdict{v},
		func() error { return s.counters.Charge(ctx, now, c, v) })
}

// ChargeAll records and counts an atomic group.
func (s *Store) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	return s.call(&Call{Op: Charge, Ctx: ctx, Now: now}, cs, vs,
		func() error { return s.counters.ChargeAll(ctx, now, cs, vs) })
}

// Denies looks at the counters.
func (s *Store) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return !s.NoSnapshot && s.counters.Denies(now, c, v)
}

// Peek records a peek, and looks at the counter.
func (s *Store) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return s.call(&Call{Op: Peek, Ctx: ctx, Now: now}, []*limit.Charge{c}, []*limit.Verdict{v},
		func() error { return s.counters.Peek(ctx, now, c, v) })
}

// Settle records and counts a correction.
func (s *Store) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	return s.call(&Call{Op: Settle, Ctx: ctx, Now: now, Deltas: slices.Clone(deltas)}, []*limit.Charge{c}, nil,
		func() error { return s.counters.Settle(ctx, now, c, r, deltas) })
}

// Renew records and makes a renewal.
func (s *Store) Renew(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	return s.call(&Call{Op: Renew, Ctx: ctx, Now: now}, []*limit.Charge{c}, nil, func() error { return s.counters.Renew(ctx, now, c, r) })
}

// Reset records a reset, and deletes the counter.
func (s *Store) Reset(ctx context.Context, key string) error {
	return s.call(&Call{Op: Reset, Ctx: ctx}, []*limit.Charge{{Key: key}}, nil,
		func() error { return s.counters.Reset(ctx, key) })
}

func (s *Store) call(c *Call, charges []*limit.Charge, verdicts []*limit.Verdict, count func() error) error {
	c.charges, c.verdicts = charges, verdicts
	for _, charge := range charges {
		c.Keys = append(c.Keys, charge.Key)
		c.Costs = append(c.Costs, slices.Clone(charge.Costs))
	}
	s.mu.Lock()
	s.calls = append(s.calls, *c)
	s.mu.Unlock()
	if s.Hook != nil {
		if err := s.Hook(c); err != nil {
			arbitrary := limit.Result{Allowed: true, Remaining: 7, Reset: time.Hour, RetryAfter: time.Hour, Delay: time.Hour}
			c.Answer(func(*limit.Charge, int) limit.Result { return arbitrary })
			return err
		}
	}
	if c.answered {
		return nil
	}
	return count()
}
