package limittest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// Store answers as scripted. Each call takes the next answer: a decision, a Peek,
// a settlement or a Reset. The last answer stays for all further calls. A call
// whose context has ended fails with the context's error.
//
//	store := limittest.NewStore(limittest.Count(), limittest.Fail(err))
//	lim, err := slidegate.New(limit, slidegate.WithName("api"), slidegate.WithStore(store))
type Store struct {
	fake *fakestore.Store

	mu     sync.Mutex
	script []Answer
}

var _ slidegate.Store = (*Store)(nil)

// Call is a call that a [Store] got.
type Call struct {
	Op    string  // "charge", "peek", "settle", "renew" or "reset"
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
		panic(fmt.Sprintf("limittest.Deny(%v): the time must be positive, or slidegate.Never", retryAfter))
	}
	return Answer{retryAfter: retryAfter}
}

// Fail returns an error, as a store does that is down. The error policy decides.
func Fail(err error) Answer {
	if err == nil {
		panic("limittest.Fail: the error is nil")
	}
	return Answer{err: err}
}

// Undecided returns an error that wraps [slidegate.ErrUndecided], as a store does
// that is full or contended.
func Undecided() Answer { return Fail(fmt.Errorf("limittest: %w", slidegate.ErrUndecided)) }

// Hang answers when the context ends, with its error. That is after 250 ms,
// unless the limiter has another [slidegate.WithDeadline] or the caller hangs up
// before.
func Hang() Answer { return Answer{hang: true} }

// NewStore returns a store with these answers, or one that counts if there are
// none.
func NewStore(script ...Answer) *Store {
	s := &Store{}
	s.fake = fakestore.New(s.answer)
	s.fake.NoSnapshot = true // the store knows no denial without being called
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
	var calls []Call
	for _, c := range s.fake.Calls(fakestore.Charge, fakestore.Peek, fakestore.Settle, fakestore.Renew, fakestore.Reset) {
		for i, key := range c.Keys {
			units := c.Costs[i]
			if c.Op == fakestore.Settle {
				units = c.Deltas
			}
			calls = append(calls, Call{string(c.Op), key, slices.Clone(units)})
		}
	}
	return calls
}

// Driver is for package slidegate.
func (s *Store) Driver() limit.Store { return s.fake }

// answer gives a call the next answer.
func (s *Store) answer(call *fakestore.Call) error {
	answer := s.next()
	if answer.hang {
		<-call.Ctx.Done()
	}
	if err := cmp.Or(call.Ctx.Err(), answer.err); err != nil || answer.count {
		return err
	}
	call.Answer(answer.result)
	return nil
}

// result is the answer for limit i of a charge.
func (a *Answer) result(c *limit.Charge, i int) limit.Result {
	l := &c.Limits[i]
	switch {
	case a.allowed:
		return limit.Result{Allowed: true, Remaining: max(0, l.MaxCost()-c.Costs[i]), Reset: l.Window}
	case c.ZeroCost():
		return limit.Result{Allowed: true, Reset: l.Window}
	}
	return limit.Result{RetryAfter: a.retryAfter, Reset: max(a.retryAfter, 0)}
}

func (s *Store) next() Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return answer
}
