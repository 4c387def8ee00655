package slidegatetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
)

// Store answers as scripted. Each call takes the next answer: a decision, a Peek,
// a settlement or a Reset. The last answer stays for all further calls. A call
// whose context has ended fails with the context's error.
//
//	store := slidegatetest.NewStore(slidegatetest.Count(), slidegatetest.Fail(err))
//	lim, err := slidegate.New(limit, slidegate.WithName("api"), slidegate.WithStore(store))
type Store struct {
	counters limit.Store

	mu     sync.Mutex
	script []Answer
	calls  []Call
}

var _ slidegate.Store = (*Store)(nil)

// Call is a call that a [Store] got.
type Call struct {
	Op    string  // "charge", "peek", "settle" or "reset"
	Key   string  // the name of the counter: the limiter's, the key with %3A for a colon and the like, and a hash
	Units []int64 // one for each limit, in the order of their names; of a settlement, what it adds or returns
}

// Answer is what a [Store] answers to one call.
type Answer struct {
	count, hang bool
	allowed     bool
	retryAfter  time.Duration
	err         error
}

// Count counts, as a [slidegate.Memory] does.
func Count() Answer { return Answer{count: true} }

// Allow allows a charge, whatever was charged before. Each limit has remaining
// what it allows, less the units of the charge.
func Allow() Answer { return Answer{allowed: true} }

// Deny denies a charge by all of its limits, with nothing remaining. The time to
// retry after is positive, or [slidegate.Never]. A settlement and a Reset
// succeed.
func Deny(retryAfter time.Duration) Answer {
	if retryAfter <= 0 && retryAfter != slidegate.Never {
		panic(fmt.Sprintf("slidegatetest.Deny(%v): the time must be positive, or slidegate.Never", retryAfter))
	}
	return Answer{retryAfter: retryAfter}
}

// Fail returns an error, as a store does that is down. The error policy decides.
func Fail(err error) Answer {
	if err == nil {
		panic("slidegatetest.Fail: the error is nil")
	}
	return Answer{err: err}
}

// Undecided returns an error that wraps [slidegate.ErrUndecided], as a store does
// that is full or contended.
func Undecided() Answer { return Fail(fmt.Errorf("slidegatetest: %w", slidegate.ErrUndecided)) }

// Hang answers when the context ends, with its error. That is after 250 ms,
// unless the limiter has another [slidegate.WithDeadline] or the caller hangs up
// before.
func Hang() Answer { return Answer{hang: true} }

// NewStore returns a store with these answers, or one that counts if there are
// none.
func NewStore(script ...Answer) *Store {
	s := &Store{counters: slidegate.NewMemory(0).Driver()}
	s.Script(script...)
	return s
}

// Script replaces the answers that are still to come; none stands for [Count].
// What the store has counted stays.
func (s *Store) Script(script ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.script = slices.Clone(script); len(script) == 0 {
		s.script = []Answer{Count()}
	}
}

// Calls returns a copy of the calls so far, in the order in which they came. An
// atomic group of rules is a call for each of them.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// next notes calls, and returns the answer to them.
func (s *Store) next(ctx context.Context, calls ...Call) (Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, calls...)
	answer := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	s.mu.Unlock()
	if answer.hang {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	return answer, answer.err
}

// Driver is for package slidegate.
func (s *Store) Driver() limit.Store { return driver{s} }

// driver has the methods that package slidegate calls.
type driver struct{ *Store }

func (d driver) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	answer, err := d.next(ctx, call("charge", c.Key, c.Costs))
	if err == nil && answer.count {
		return d.counters.Charge(ctx, now, c, v)
	}
	answer.fill(v, c)
	return err
}

func (d driver) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	calls := make([]Call, len(cs))
	for i, c := range cs {
		calls[i] = call("charge", c.Key, c.Costs)
	}
	answer, err := d.next(ctx, calls...)
	if err == nil && answer.count {
		return d.counters.ChargeAll(ctx, now, cs, vs)
	}
	for i, c := range cs {
		answer.fill(vs[i], c)
	}
	return err
}

func (d driver) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	answer, err := d.next(ctx, call("peek", c.Key, c.Costs))
	if err == nil && answer.count {
		return d.counters.Peek(ctx, now, c, v)
	}
	answer.fill(v, c)
	return err
}

func (d driver) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	answer, err := d.next(ctx, call("settle", c.Key, deltas))
	if err == nil && answer.count {
		return d.counters.Settle(ctx, now, c, r, deltas)
	}
	return err
}

func (d driver) Reset(ctx context.Context, key string) error {
	answer, err := d.next(ctx, call("reset", key, nil))
	if err == nil && answer.count {
		return d.counters.Reset(ctx, key)
	}
	return err
}

// Denies reports false: the store knows no denial without being called.
func (d driver) Denies(time.Time, *limit.Charge, *limit.Verdict) bool { return false }

func call(op, key string, units []int64) Call { return Call{op, key, slices.Clone(units)} }

// fill makes v the verdict of an answer that counts nothing.
func (a *Answer) fill(v *limit.Verdict, c *limit.Charge) {
	*v = limit.Verdict{}
	v.Resize(len(c.Limits))
	for i := range c.Limits {
		l, r := &c.Limits[i], &v.Limits[i]
		*r = limit.Result{Allowed: a.allowed || c.ZeroCost(), Reset: l.Window}
		switch {
		case a.allowed:
			r.Remaining = max(0, l.MaxCost()-c.Costs[i])
		case !r.Allowed:
			r.RetryAfter, r.Reset = a.retryAfter, max(a.retryAfter, 0)
		}
	}
	v.Result = limit.Combine(v.Limits)
}
