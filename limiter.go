package slidegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/setup"
)

// Limiter limits keys, such as users or addresses: each key has the limits to
// itself. It is safe for concurrent use.
type Limiter struct {
	config
	private bool // no other limiter uses the store
	set     *rules.Set
	rule    *rules.Rule
	terms   *rules.Terms
	order   []int // of the limits that New was given, in the rule
	engine  *engine.Engine
	calls   sync.Pool // of *call
}

// call is one call of a limiter.
type call struct {
	engine.Verdict
	costs [limit.MaxLimits]int64
}

// newCall returns a call without what differs from one to the next.
func (l *Limiter) newCall() *call {
	c := &call{}
	c.Rule, c.Terms = l.rule, l.terms
	c.Charge.Costs, c.Charge.Lease = c.costs[:len(l.order)], int32(l.lease)
	return c
}

// New returns a limiter by one limit, or by several that are charged all or
// none. Without [WithStore] it counts in memory.
//
//	slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	slidegate.New(slidegate.SlidingWindow(20, time.Second), slidegate.PerMonth(100_000, "UTC"),
//		slidegate.WithName("api"), slidegate.WithStore(store))
//
// The error names the limit or option that is wrong, and what to write.
func New(options ...Option) (*Limiter, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	l := &Limiter{config: c}
	if err := l.compile(nil); err != nil {
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	if l.private = l.store == nil; l.private {
		l.store = NewMemory(0)
	}
	l.engine = l.newEngine(engine.Options{Rules: engine.Fixed{Set: l.set}})
	l.calls.New = func() any { return l.newCall() }
	return l, nil
}

// refunding returns a limiter on the same counters that refunds requests whose
// answer has one of these statuses. It panics if one of them is none.
func (l *Limiter) refunding(statuses []string) *Limiter {
	r := &Limiter{config: l.config, private: l.private, engine: l.engine}
	r.calls.New = func() any { return r.newCall() }
	if err := r.compile(statuses); err != nil {
		panic("slidegate: " + err.Error())
	}
	return r
}

// compile makes a rule of the limits.
func (l *Limiter) compile(refundOn []string) error {
	switch {
	case len(l.limits) == 0:
		return errors.New("a limiter needs a limit, such as SlidingWindow(100, time.Minute)")
	case l.lease > 0 && inMemory(l.store):
		return errors.New("WithLease: counters in memory need no leases: leave the option out")
	case l.name == "" && l.store != nil:
		return errors.New(`a limiter with WithStore needs a name for its counters, such as WithName("api")`)
	case l.name == "":
		l.name = "default"
	}
	document := &ruledoc.Document{Rules: []ruledoc.Rule{{Name: l.name, Key: "all", Limits: l.limits, RefundOn: refundOn, Lease: l.lease}}}
	set, problems := rules.Compile(document)
	if len(problems) > 0 {
		return setup.LimitErrors(problems, l.limits)
	}
	l.set, l.rule = set, set.Rules[0]
	l.set.Instances, l.rule.OnError = l.policy.instances, l.policy.onError
	if err := (&limit.Charge{Limits: l.rule.Limits, Costs: make([]int64, len(l.rule.Limits))}).Check(); err != nil {
		return err
	}
	l.terms = l.rule.Terms(&request.Request{}, "", nil, time.Time{})
	for _, given := range ruledoc.WithDefaults(document).Rules[0].Limits { // named, in the order given
		l.order = append(l.order, slices.IndexFunc(l.rule.Limits, func(c limit.Limit) bool { return c.Name == given.Name }))
	}
	return nil
}

// Allow charges one unit of a key if its limits allow it. A denial is a result,
// not an error. The error is nil unless the context was cancelled, or the error
// policy is [FailError] and the store failed: then there is no decision. A
// context whose deadline passes is a failure of the store.
//
// The key is any text, such as "user:7". Of a key of 505 bytes or more, stores
// keep the start and a hash.
func (l *Limiter) Allow(ctx context.Context, key string) (r Result, err error) {
	err = l.allow(ctx, nil, key, nil, &r)
	return r, err
}

// AllowN charges n units, which is one number for all limits, or one for each
// in the order that [New] was given. None stands for 1. Zero is always allowed
// and charges nothing. Negative units, or too many numbers, are an error.
//
//	lim.AllowN(ctx, "user:7", 512)    // 512 units of each limit
//	lim.AllowN(ctx, "user:7", 1, 512) // one request, and 512 tokens
func (l *Limiter) AllowN(ctx context.Context, key string, n ...int64) (r Result, err error) {
	err = l.allow(ctx, nil, key, n, &r)
	return r, err
}

// AllowAt is AllowN at a given time. Time never runs backwards for a key: a
// request from the past is charged to the newest slot. A store of package
// redisstore uses the server's clock, whatever the time, unless it was opened
// otherwise.
func (l *Limiter) AllowAt(ctx context.Context, now time.Time, key string, n ...int64) (r Result, err error) {
	err = l.allow(ctx, &now, key, n, &r)
	return r, err
}

// allow is AllowAt, or AllowN if at is nil. It fills in r, because to copy a
// result takes longer than to decide. A call that fails is left to the garbage
// collector, because a deferred Put would lengthen all others.
func (l *Limiter) allow(ctx context.Context, at *time.Time, key string, n []int64, r *Result) error {
	c := l.calls.Get().(*call)
	if err := l.resolve(ctx, c, key, n); err != nil {
		return err
	}
	var now time.Time
	if at != nil {
		now = *at
	} else { // as late as possible, so that the processor reads the key while it waits for the clock
		now = l.now()
	}
	if err := l.charge(ctx, now, c); err != nil {
		return err
	}
	l.report(ctx, now, c, r)
	l.calls.Put(c)
	return nil
}

// Peek returns what AllowN would return, and charges nothing: Remaining and
// ResetAfter are as they are without the charge. With 0 units it shows what is
// left. If the store fails, it returns the store's error, whatever the error
// policy. The deadline of the context bounds it, or WithDeadline if the context
// has none. Observers do not see it.
func (l *Limiter) Peek(ctx context.Context, key string, n ...int64) (r Result, err error) {
	c := l.calls.Get().(*call)
	defer l.calls.Put(c)
	if err := l.resolve(ctx, c, key, n); err != nil {
		return r, err
	}
	now := l.now()
	if err := checkTime(now); err != nil {
		return r, l.wrap(err)
	}
	ctx, cancel := l.boundByDefault(ctx)
	defer cancel()
	peek := func() error { return l.store.Peek(ctx, now, &c.Charge, &c.Verdict.Verdict) }
	if err := l.engine.Observe(ctx, engine.CallPeek, peek); err != nil {
		return r, l.wrap(err)
	}
	r.fill(&c.Verdict, l.order)
	return r, nil
}

// Reset deletes the counter of a key, so that its next request finds all limits
// unused. It returns the store's error if that fails, and takes as long as
// [Limiter.Peek] may. Other processes may deny by what they know of a counter in
// DynamoDB or Redis for ten seconds more, and counters of [FailLocal] stay.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	ctx, cancel := l.boundByDefault(ctx)
	defer cancel()
	return l.wrap(l.engine.Observe(ctx, engine.CallReset, func() error { return l.store.Reset(ctx, l.item(key)) }))
}

// charge charges the resolved key in the store, or decides by the error policy.
func (l *Limiter) charge(ctx context.Context, now time.Time, c *call) error {
	if err := checkTime(now); err != nil {
		return l.wrap(err)
	}
	if l.deadline > 0 {
		bounded, cancel := l.bound(ctx)
		defer cancel()
		ctx = bounded
	}
	if !l.policy.fail {
		return l.wrap(l.engine.ChargeRule(ctx, now, l.set, &c.Verdict))
	}
	err := l.engine.TryRule(ctx, now, &c.Verdict)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		l.observe(ctx, Event{Time: now, Rule: l.name, Key: c.Key, Action: "charge", Err: err})
	}
	return l.wrap(err)
}

// resolve makes c the charge of n units of a key, unless the caller has hung up.
func (l *Limiter) resolve(ctx context.Context, c *call, key string, n []int64) error {
	err := ctx.Err()
	if err != nil && errors.Is(err, context.Canceled) {
		return l.wrap(err)
	}
	if err := l.units(n, &c.costs); err != nil {
		return err
	}
	c.Renew()
	c.Key, c.Charge.Key, c.Charge.Limits, c.Charge.Checked = key, l.item(key), l.rule.Limits, true
	return nil
}

// units fills in n as one number for each limit of the rule.
func (l *Limiter) units(n []int64, units *[limit.MaxLimits]int64) error {
	if len(n) > 1 && len(n) != len(l.order) {
		return l.wrap(fmt.Errorf("%d numbers of units for %d limits: give one for all, or one for each", len(n), len(l.order)))
	}
	for given, i := range l.order {
		switch len(n) {
		case 0:
			units[i] = 1
		case 1:
			units[i] = n[0]
		default:
			units[i] = n[given]
		}
		if units[i] < 0 {
			return l.wrap(fmt.Errorf("%d units: a request cannot take less than 0", units[i]))
		}
	}
	return nil
}

// item returns the name of a key's counter. In a store that no other limiter
// uses, that is the key, unless it is long: clients must not fill the memory.
func (l *Limiter) item(name string) string {
	if l.private && len(name) < key.MaxLen {
		return name
	}
	return l.rule.Item(string(key.AppendValue(nil, name)), l.terms)
}

// decide is AllowN for a middleware.
func (l *Limiter) decide(ctx context.Context, key string, n []int64) (*engine.Decision, error) {
	now, c := l.now(), l.newCall()
	if err := l.resolve(ctx, c, key, n); err != nil {
		return nil, err
	}
	if err := l.charge(ctx, now, c); err != nil {
		return nil, err
	}
	var r Result
	l.report(ctx, now, c, &r)
	return engine.DecisionOf(l.set, c.Verdict), nil
}

// finish corrects the charge of a request by its answer.
func (l *Limiter) finish(ctx context.Context, d *engine.Decision, o *engine.Outcome) {
	l.engine.Finish(ctx, l.now(), d, o)
}

// report fills in the result of a call, and passes it on to the observers.
func (l *Limiter) report(ctx context.Context, now time.Time, c *call, r *Result) {
	r.fill(&c.Verdict, l.order)
	if len(l.observers) > 0 {
		l.observe(ctx, Event{Time: now, Rule: l.name, Key: c.Key, Reason: engine.Limited.String(), Result: *r})
	}
}

// wrap adds the limiter's name to an error; nil stays nil.
func (l *Limiter) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("slidegate: limiter %s: %w", l.name, err)
}
