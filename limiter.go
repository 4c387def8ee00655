package slidegate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Limiter limits keys, such as users or addresses: each key has the limits to
// itself. It is safe for concurrent use.
type Limiter struct {
	config  setup.Limiter
	private bool // no other limiter uses the store
	set     *rules.Set
	rule    *rules.Rule
	terms   *rules.Terms
	order   []int // of the limits that New was given, in the rule
	place   int   // the index of the limit InFlight in the rule; -1 for none
	engine  *engine.Engine
	calls   sync.Pool // of *call
	firsts  sync.Map  // by key, a channel of the caller of Wait whom others let go first
}

// call is one call of a limiter.
type call struct {
	engine.Verdict
	costs [limit.MaxLimits]int64
}

// newCall returns a call with the fields that all calls share.
func (l *Limiter) newCall() *call {
	c := &call{}
	c.Rule, c.Terms = l.rule, l.terms
	c.Charge.Costs, c.Charge.Lease = c.costs[:len(l.order)], int32(l.config.Lease)
	return c
}

// New returns a limiter by one limit, or by several that are charged all or
// none. Without [WithStore] it counts in memory.
//
//	slidegate.New(slidegate.SlidingWindow(100, time.Minute))
//	slidegate.New(slidegate.SlidingWindow(20, time.Second), slidegate.PerMonth(100_000, time.UTC),
//		slidegate.WithName("api"), slidegate.WithStore(store))
//
// The error names the limit or option that is wrong, and what to write.
func New(options ...Option) (*Limiter, error) {
	l, err := newLimiter(options)
	if err != nil {
		return nil, fmt.Errorf("slidegate: %w", err)
	}
	return l, nil
}

func newLimiter(options []Option) (*Limiter, error) {
	l := &Limiter{}
	c := &l.config
	if err := setup.Apply(&c.Config, options, func(o Option) { o.ForLimiter(c) }); err != nil {
		return nil, err
	}
	if c.Policy == (setup.Policy{}) {
		c.Policy = FailLocal(ruledoc.DefaultInstances).policy
	}
	if err := l.compile(nil); err != nil {
		return nil, err
	}
	if l.private = c.Store == nil; l.private {
		c.Store = memory.New(0)
	}
	l.engine = c.NewEngine(engine.Options{Rules: engine.Fixed{Set: l.set}})
	l.calls.New = func() any { return l.newCall() }
	return l, nil
}

// compile makes a rule of the limits.
func (l *Limiter) compile(refundOn []string) error {
	c := &l.config
	switch {
	case len(c.Limits) == 0:
		return errors.New("a limiter needs a limit, such as SlidingWindow(100, time.Minute)")
	case c.Lease > 0 && c.InMemory():
		return errors.New("WithLease: counters in memory need no leases: leave the option out")
	case c.Name == "" && c.Store != nil:
		return errors.New(`a limiter with WithStore needs a name for its counters, such as WithName("api")`)
	case c.Name == "":
		c.Name = "default"
	}
	document := &ruledoc.Document{Rules: []ruledoc.Rule{{Name: c.Name, Key: "all", RefundOn: refundOn, Lease: c.Lease}}}
	set, problems := rules.CompileWith(document, [][]rules.GoLimit{c.Limits})
	if len(problems) > 0 {
		return setup.LimitErrors(problems, c.Limits)
	}
	l.set, l.rule, l.place = set, set.Rules[0], rules.InFlight(set.Rules[0].Limits)
	l.set.Instances, l.rule.OnError = c.Policy.Processes, c.Policy.OnError
	if err := (&limit.Charge{Limits: l.rule.Limits, Costs: make([]int64, len(l.rule.Limits))}).Check(); err != nil {
		return err
	}
	l.terms = l.rule.Terms(&request.Request{}, "", nil, time.Time{})
	l.order = make([]int, len(l.rule.Places))
	for i, given := range l.rule.Places {
		l.order[given] = i
	}
	return nil
}

// Allow charges one unit of a key if its limits allow it. A denial is a result,
// not an error. The error is nil unless the context was cancelled, or the limiter
// has [FailError] and the store failed: then there is no decision. A context whose
// deadline passes is a failure of the store.
//
// The key is any text, such as "user:7". Stores shorten keys of 505 bytes or more
// to a prefix and a hash.
func (l *Limiter) Allow(ctx context.Context, key string) (r Result, err error) {
	err = l.allow(ctx, nil, key, units{n: 1}, &r)
	return r, err
}

// AllowN charges n units of each limit. Zero is always allowed and charges
// nothing. Negative units are an error.
func (l *Limiter) AllowN(ctx context.Context, key string, n int64) (r Result, err error) {
	err = l.allow(ctx, nil, key, units{n: n}, &r)
	return r, err
}

// AllowCosts charges each limit its own cost, in the order that [New] was given.
// Another number of costs than of limits is an error.
//
//	lim.AllowCosts(ctx, "user:7", 1, 512) // one request, and 512 tokens
func (l *Limiter) AllowCosts(ctx context.Context, key string, costs ...int64) (r Result, err error) {
	err = l.allow(ctx, nil, key, units{costs: costs, stated: true}, &r)
	return r, err
}

// AllowAt decides at a given time: one unit of each limit, or costs as
// [Limiter.AllowCosts] takes them. Time never runs backwards for a key: a request
// from the past is charged to the newest slot. A store of package redisstore uses
// the server's clock, whatever the time, unless it was opened otherwise.
func (l *Limiter) AllowAt(ctx context.Context, now time.Time, key string, costs ...int64) (r Result, err error) {
	err = l.allow(ctx, &now, key, units{n: 1, costs: costs}, &r)
	return r, err
}

var errPlace = errors.New("a place of InFlight must be given back: call Reserve or Acquire, and then Settle or Cancel of the Reservation")

// allow decides at a time, or now if at is nil. A call that fails is left to the
// garbage collector, because a deferred Put would lengthen all others.
func (l *Limiter) allow(ctx context.Context, at *time.Time, key string, n units, r *Result) error {
	if l.place >= 0 {
		return l.wrap(errPlace)
	}
	c := l.calls.Get().(*call)
	err := l.do(ctx, at, c, key, n, r)
	if err == nil {
		l.calls.Put(c)
	}
	return err
}

// do makes the call c. It fills in r, because to copy a result takes longer than
// to decide.
func (l *Limiter) do(ctx context.Context, at *time.Time, c *call, key string, n units, r *Result) error {
	if err := l.resolve(ctx, c, key, n); err != nil {
		return err
	}
	var now time.Time
	if at != nil {
		now = *at
	} else { // as late as possible, so that the processor reads the key while it waits for the clock
		now = l.config.Now()
	}
	if err := l.charge(ctx, now, c); err != nil {
		return err
	}
	l.report(ctx, now, c, r)
	return nil
}

// Peek returns what is left of a key's limits, and charges nothing. It asks for no
// units, so Allowed is always true: look at Remaining. If the store fails, Peek
// returns the store's error, whatever the error policy. The deadline of the context
// bounds it, or WithDeadline if the context has none. Observers do not see it.
func (l *Limiter) Peek(ctx context.Context, key string) (r Result, err error) {
	return l.peek(ctx, key, units{})
}

// peek returns what a charge would return.
func (l *Limiter) peek(ctx context.Context, key string, n units) (r Result, err error) {
	c := l.calls.Get().(*call)
	defer l.calls.Put(c)
	if err := l.resolve(ctx, c, key, n); err != nil {
		return r, err
	}
	now := l.config.Now()
	if err := checkTime(now); err != nil {
		return r, l.wrap(err)
	}
	ctx, cancel := l.config.BoundByDefault(ctx)
	defer cancel()
	if err := l.config.Store.Peek(ctx, now, &c.Charge, &c.Verdict.Verdict); err != nil {
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
	ctx, cancel := l.config.BoundByDefault(ctx)
	defer cancel()
	return l.wrap(l.config.Store.Reset(ctx, l.item(key)))
}

// charge charges the resolved key in the store, or decides by the error policy.
func (l *Limiter) charge(ctx context.Context, now time.Time, c *call) error {
	if err := checkTime(now); err != nil {
		return l.wrap(err)
	}
	if l.config.Deadline > 0 {
		bounded, cancel := l.config.Bound(ctx)
		defer cancel()
		ctx = bounded
	}
	if !l.config.Errors {
		return l.wrap(l.engine.ChargeRule(ctx, now, l.set, &c.Verdict))
	}
	err := l.engine.TryRule(ctx, now, &c.Verdict)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		l.observeFailure(ctx, now, c, ActionCharge, err)
	}
	return l.wrap(err)
}

// checkTime returns an error for a time that limits cannot count by, such as the
// zero Time.
func checkTime(now time.Time) error {
	if !limit.InRange(now) {
		return fmt.Errorf("the time %s is out of range: give one of the years 1930 to 2199", now.Format(time.RFC3339))
	}
	return nil
}

// resolve fills in c for a key and its units. It fails if the caller has hung up.
func (l *Limiter) resolve(ctx context.Context, c *call, key string, n units) error {
	err := ctx.Err()
	if err != nil && errors.Is(err, context.Canceled) {
		return l.wrap(err)
	}
	if err := n.fill(&c.costs, l); err != nil {
		return l.wrap(err)
	}
	if l.place >= 0 {
		c.Charge.Hold = l.opening(c.costs[l.place])
	}
	c.Renew()
	c.Key, c.Charge.Key, c.Charge.Limits, c.Charge.Checked = key, l.item(key), l.rule.Limits, true
	return nil
}

// opening returns the hold of a request that takes so many places. A random ID is
// no other's, so that only who has the reservation gives the place back.
func (l *Limiter) opening(places int64) (o limit.Opening) {
	if places > 0 {
		of := &l.rule.Limits[l.place]
		o = limit.Opening{ID: max(1, rand.Uint64()), For: of.Window, Most: of.Capacity}
	}
	return o
}

// units are what a request takes: n units of each limit, or costs, if there are
// any or must be: one for each, in the order that New was given.
type units struct {
	n      int64
	costs  []int64
	stated bool // none would not stand for n
}

// fill fills in one number for each limit of the rule.
func (u units) fill(of *[limit.MaxLimits]int64, l *Limiter) error {
	switch {
	case len(u.costs) == 0 && u.stated:
		return errors.New("no costs: give one for each limit")
	case len(u.costs) > 0 && len(u.costs) != len(l.order):
		return fmt.Errorf("%d costs for %d limits: give one for each", len(u.costs), len(l.order))
	}
	for given, i := range l.order {
		if of[i] = u.n; len(u.costs) > 0 {
			of[i] = u.costs[given]
		} else if i == l.place {
			of[i] = min(u.n, 1)
		}
		if i == l.place && of[i] > 1 {
			return fmt.Errorf("%d places: a request takes one place InFlight: give 1, or 0 for none", of[i])
		}
		if of[i] < 0 {
			return fmt.Errorf("%d units: a request cannot take less than 0", of[i])
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

// report fills in the result of a call, and passes it on to the observers.
func (l *Limiter) report(ctx context.Context, now time.Time, c *call, r *Result) {
	r.fill(&c.Verdict, l.order)
	if len(l.config.Meters) > 0 {
		l.config.Measure(ctx, now, &request.Request{}, engine.DecisionOf(l.set, c.Verdict))
	}
	if len(l.config.Observers) > 0 {
		l.config.Observe(ctx, &setup.Event{Time: now, Rule: l.config.Name, Key: c.Key, Reason: engine.Limited, Verdict: &c.Verdict, Order: l.order})
	}
}

// observeFailure passes a failure on to the observers.
func (l *Limiter) observeFailure(ctx context.Context, now time.Time, c *call, action Action, err error) {
	l.config.Observe(ctx, &setup.Event{Time: now, Rule: l.config.Name, Key: c.Key, Action: string(action), Err: err})
}

// wrap adds the limiter's name to an error; nil stays nil.
func (l *Limiter) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("slidegate: limiter %s: %w", l.config.Name, err)
}
