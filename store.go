package slidegate

import (
	"context"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Store keeps counters: a [Memory], or a store of package dynamostore or
// redisstore.
type Store interface {
	// Driver is for this module.
	Driver() limit.Store
}

// Memory keeps counters in this process. It is safe for concurrent use.
//
// Trade-off: a decision takes less than a microsecond, but processes do not
// share their counters, and a restart loses them.
//
// Make one with NewMemory: the zero Memory is not usable.
type Memory struct {
	counters *memory.Store
	now      func() time.Time
}

// NewMemory returns a store for this many keys; 0 stands for 250,000. A key
// takes about 115 bytes beside its text, and 16 bytes for each slot in use after
// the first.
//
// A store that is full of keys with units in their windows takes no new key:
// Allow then denies, or returns an error that wraps [ErrUndecided], depending on
// the [ErrorPolicy]. It never drops a key in use, because a client could free
// itself by a flood of made-up keys.
func NewMemory(keys int) *Memory {
	return &Memory{memory.New(keys), clock.Monotonic()}
}

// Now returns the time of the machine's wall clock when the Memory was made plus
// monotonic time since. All limiters on one Memory go by it: two clocks that a
// step of the machine's clock parted would end each other's windows.
func (m *Memory) Now() time.Time { return m.now() }

// Driver is for this module.
func (m *Memory) Driver() limit.Store { return m.counters }

// ErrUndecided is wrapped by the error of a store that works but cannot decide:
// it is full, or too many others write the same counter.
var ErrUndecided = limit.ErrUndecided

// Parts is for this module. It returns what a middleware needs of the limiter,
// which refunds requests whose answer has one of these statuses.
func (l *Limiter) Parts(refundOn []string) (*setup.LimiterParts, error) {
	r := l
	if len(refundOn) > 0 {
		r = &Limiter{config: l.config, private: l.private, engine: l.engine}
		r.calls.New = func() any { return r.newCall() }
		if err := r.compile(refundOn); err != nil {
			return nil, err
		}
	}
	return &setup.LimiterParts{
		Log: l.config.Log, Decide: r.decide, Occupy: r.engine.Occupier(r.config.Now),
		Finish: func(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
			r.engine.Finish(ctx, r.config.Now(), d, o)
		},
	}, nil
}

// decide is AllowN for a middleware.
func (l *Limiter) decide(ctx context.Context, key string, n int64) (*engine.Decision, error) {
	var r Result
	c := l.newCall()
	if err := l.do(ctx, nil, c, key, units{n: n}, &r); err != nil {
		return nil, err
	}
	return engine.DecisionOf(l.set, c.Verdict), nil
}

// Begin is for this module. It is AllowN for work that has an end: the context of
// the work ends if it loses its place in flight, and finish gives the place back.
func (l *Limiter) Begin(ctx context.Context, key string, n int64) (r Result, work context.Context, finish func(), err error) {
	d, err := l.decide(ctx, key, n)
	if err != nil {
		return r, ctx, nil, err
	}
	work, _ = l.engine.Occupy(ctx, l.config.Now, d)
	return ResultOf(&d.Verdicts[0]), work, func() { l.engine.Finish(ctx, l.config.Now(), d, &engine.Outcome{}) }, nil
}

// DecisionOf is for this module. It returns a decision with this result, from
// which answers are written.
func (l *Limiter) DecisionOf(r Result) *engine.Decision {
	v := l.newCall().Verdict
	v.Resize(len(l.order))
	v.Allowed, v.Reset, v.RetryAfter, v.Delay = r.Allowed, r.ResetAfter, r.RetryAfter, r.Delay
	v.Degraded, v.Uncounted = r.Degraded, r.Degraded && r.Remaining == 0 && r.ResetAfter == 0
	switch {
	case len(l.order) == 1:
		v.Limits[0] = v.Result
		v.Limits[0].Remaining = r.Remaining
	case len(r.Limits) != len(l.order):
		v.Uncounted = true
	default:
		for given, i := range l.order {
			of := &r.Limits[given]
			v.Limits[i] = limit.Result{Allowed: of.Allowed, Remaining: of.Remaining, Reset: of.ResetAfter, RetryAfter: of.RetryAfter, Delay: of.Delay}
		}
	}
	return engine.DecisionOf(l.set, v)
}
