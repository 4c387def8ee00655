package slidegate_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
	"github.com/slidegate/slidegate/store/dynamostore"
	"github.com/slidegate/slidegate/store/redisstore"
)

// The numbers of random sequences for a store beyond the network, and of
// concurrent histories. The stores' own packages run several times as many.
// Here few are enough: what is new is the way through a Limiter, which every
// call takes.
const (
	sequences = 4
	histories = 4
)

// TestConformance runs the suite of the stores through the exported API.
func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) storetest.Harness {
			store := newAdapter(slidegate.NewMemory(0))
			return storetest.Harness{Client: func(testing.TB) limit.Store { return store }, NoHolds: true, Accepts: accepts, Histories: histories}
		})
	})
	storetest.Few(t, sequences)
	t.Run("dynamodb", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return onDynamoDB(t) })
	})
	t.Run("redis", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return onRedis(t) })
	})
}

// onDynamoDB has clients of one table. Each has its own snapshots, by which it
// denies for ten seconds.
func onDynamoDB(t *testing.T) storetest.Harness {
	engine := dynamotest.Connect(t)
	table := dynamotest.Counters(t, engine)
	h := harness(func() slidegate.Store { return dynamostore.New(engine.Client, table, dynamostore.WithCallerClock()) })
	h.Lag = 10 * time.Second
	return h
}

// onRedis has stores of one client, as separate processes would have, each with
// its own snapshots.
func onRedis(t *testing.T) storetest.Harness {
	client := servers.StartRedis(t).Client
	h := harness(func() slidegate.Store { return redisstore.New(client, redisstore.WithCallerClock()) })
	h.Lag = 10 * time.Second
	return h
}

// harness returns one whose clients have a store each. It expires counters by
// another, so that the clients keep what they know of them.
func harness(open func() slidegate.Store) storetest.Harness {
	return storetest.Harness{
		Client: func(testing.TB) limit.Store { return newAdapter(open()) },
		Expire: func(t testing.TB, key string) {
			t.Helper()
			if err := newAdapter(open()).Reset(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		},
		NoHolds:   true, // limiters open none
		Accepts:   accepts,
		Histories: histories,
	}
}

// accepts reports whether New takes a limit: documents of rules bound windows and
// slots to 100 ms.
func accepts(l *limit.Limit) bool {
	_, err := slidegate.New(exported(l))
	return err == nil
}

// adapter makes the calls of the suite on limiters, but for what they do not
// offer: ChargeAll, which is for rules, and Denies.
type adapter struct {
	slidegate.Store

	mu           sync.Mutex
	reservations map[string]*slidegate.Reservation // by charge and receipt
}

// charged has the last charge of each key, by any client: a limiter for its
// limits resets it.
var charged sync.Map

// GoString keeps the logs of failed tests short.
func (a *adapter) GoString() string { return "adapter" }

func newAdapter(s slidegate.Store) *adapter {
	return &adapter{Store: s, reservations: map[string]*slidegate.Reservation{}}
}

func (a *adapter) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	lim, err := a.limiter(now, c)
	if err != nil {
		return err
	}
	r, err := lim.ReserveAt(ctx, now, c.Key, c.Costs...)
	if err != nil {
		return err
	}
	fill(v, c, r.Result)
	v.Receipt = r.Receipt()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reservations[name(c, &v.Receipt)] = r
	return nil
}

func (a *adapter) Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	lim, err := a.limiter(now, c)
	if err != nil {
		return err
	}
	result, err := lim.PeekCosts(ctx, c.Key, c.Costs...)
	fill(v, c, result)
	return err
}

func (a *adapter) Settle(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt, deltas []int64) error {
	if err := c.CheckSettlement(deltas); err != nil {
		return err
	}
	a.mu.Lock()
	reservation := a.reservations[name(c, r)]
	a.mu.Unlock()
	if reservation == nil { // ChargeAll made the charge
		return a.Driver().Settle(ctx, now, a.named(c), r, deltas)
	}
	actual := make([]int64, len(deltas))
	for i := range deltas {
		actual[i] = c.Costs[i] + deltas[i]
	}
	return reservation.Again().SettleAt(ctx, now, actual...)
}

func (a *adapter) Reset(ctx context.Context, key string) error {
	c, ok := charged.Load(key)
	if !ok {
		return nil
	}
	lim, err := a.limiter(time.Time{}, c.(*limit.Charge))
	if err != nil {
		return err
	}
	return lim.Reset(ctx, key)
}

func (a *adapter) Renew(ctx context.Context, now time.Time, c *limit.Charge, r *limit.Receipt) error {
	return a.Driver().Renew(ctx, now, a.named(c), r)
}

func (a *adapter) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	named := make([]*limit.Charge, len(cs))
	for i, c := range cs {
		named[i] = a.named(c)
	}
	return a.Driver().ChargeAll(ctx, now, named, vs)
}

func (a *adapter) Denies(now time.Time, c *limit.Charge, v *limit.Verdict) bool {
	return a.Driver().Denies(now, a.named(c), v)
}

// named returns a charge by the name of the counter that a limiter charges.
func (a *adapter) named(c *limit.Charge) *limit.Charge {
	lim, err := a.limiter(time.Time{}, c)
	if err != nil {
		return c // no store takes it
	}
	named := *c
	named.Key = lim.Item(c.Key)
	return &named
}

func name(c *limit.Charge, r *limit.Receipt) string { return fmt.Sprint(c.Key, c.Costs, *r) }

// limiter returns a limiter for the limits of a charge, at a time.
func (a *adapter) limiter(now time.Time, c *limit.Charge) (*slidegate.Limiter, error) {
	if err := c.Check(); err != nil { // a limiter cannot state such a charge
		return nil, err
	}
	options := []slidegate.Option{
		slidegate.WithName("conformance"), slidegate.WithStore(a.Store), slidegate.FailError(),
		slidegate.WithClock(func() time.Time { return now }), slidegate.WithDeadline(time.Minute),
	}
	for i := range c.Limits {
		options = append(options, exported(&c.Limits[i]))
	}
	charged.Store(c.Key, c)
	return slidegate.New(options...)
}

// exported returns a limit as the exported API states it.
func exported(l *limit.Limit) slidegate.Limit {
	e := map[limit.Algorithm]slidegate.Limit{
		limit.SlidingWindow:        slidegate.SlidingWindow(l.Capacity, l.Window).WithSlots(l.Granularity),
		limit.FixedWindow:          slidegate.FixedWindow(l.Capacity, l.Window),
		limit.SlidingWindowCounter: slidegate.SlidingWindowCounter(l.Capacity, l.Window),
		limit.SlidingWindowLog:     slidegate.SlidingLog(l.Capacity, l.Window),
		limit.TokenBucket:          slidegate.TokenBucket(l.Capacity, l.Window, l.Burst),
		limit.LeakyBucket:          slidegate.LeakyBucket(l.Capacity, l.Window, l.Burst),
	}[l.Algorithm]
	if c := l.Calendar; c != nil {
		per := map[limit.Unit]func(int64, *time.Location) slidegate.Limit{
			limit.Day: slidegate.PerDay, limit.Week: slidegate.PerWeek, limit.Month: slidegate.PerMonth,
		}[c.Unit]
		if e = per(l.Capacity, c.Location); c.Anchor != 0 {
			e = e.WithAnchor(c.Anchor)
		}
	}
	if l.Name != "" {
		e = e.WithName(l.Name)
	}
	return e
}

// fill translates a result back to the suite's verdict.
func fill(v *limit.Verdict, c *limit.Charge, r slidegate.Result) {
	v.Result = limit.Result{Allowed: r.Allowed, Remaining: r.Remaining, Reset: r.ResetAfter, RetryAfter: r.RetryAfter, Delay: r.Delay}
	v.Resize(len(c.Limits))
	if v.Limits[0] = v.Result; len(c.Limits) == 1 {
		return
	}
	for i, l := range r.Limits {
		v.Limits[i] = limit.Result{Allowed: l.Allowed, Remaining: l.Remaining, Reset: l.ResetAfter, RetryAfter: l.RetryAfter, Delay: l.Delay}
	}
	v.Remaining = limit.Combine(v.Limits[:len(r.Limits)]).Remaining // a Result has that of the tightest
}

// TestAllocations: a decision on a known key in a limiter's own Memory allocates
// nothing, whatever it is. The race detector drops a quarter of what goes into a
// pool, which AllocsPerRun rounds down to nothing.
func TestAllocations(t *testing.T) {
	_, withClock := stopped()
	ctx := t.Context()
	roomy := newLimiter(t, slidegate.SlidingWindow(1_000_000, time.Minute), withClock)
	full := newLimiter(t, slidegate.SlidingWindow(1, time.Minute), withClock)
	bucket := newLimiter(t, slidegate.TokenBucket(1_000_000, time.Second, 0)) // by the machine's clock
	if _, err := full.Allow(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"allowed":         func() error { _, err := roomy.Allow(ctx, "k"); return err },
		"several units":   func() error { _, err := roomy.AllowN(ctx, "k", 3); return err },
		"at a given time": func() error { _, err := roomy.AllowAt(ctx, noon, "k", 3); return err },
		"denied":          func() error { _, err := full.Allow(ctx, "k"); return err },
		"peek":            func() error { _, err := full.Peek(ctx, "k"); return err },
		"wait":            func() error { return roomy.Wait(ctx, "k") },
		"bucket":          func() error { _, err := bucket.Allow(ctx, "k"); return err },
	} {
		if n := testing.AllocsPerRun(1000, func() {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestConcurrent charges a key from many goroutines: exactly the units of the
// limit pass.
func TestConcurrent(t *testing.T) {
	var observed atomic.Int64
	lim := newLimiter(t, slidegate.SlidingWindow(1000, time.Hour), slidegate.WithClock(func() time.Time { return noon }),
		slidegate.WithObserver(observer(func(slidegate.Event) { observed.Add(1) })))
	var allowed [3]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 450 {
				key := i % len(allowed)
				r, err := lim.AllowN(t.Context(), fmt.Sprint(key), int64(key+1))
				if err != nil {
					t.Error(err)
				}
				if r.Allowed {
					allowed[key].Add(int64(key + 1))
				}
			}
		})
	}
	wg.Wait()
	for key, want := range []int64{1000, 1000, 999} {
		if got := allowed[key].Load(); got != want {
			t.Errorf("key %d: %d units allowed; want %d", key, got, want)
		}
	}
	if got := observed.Load(); got != 8*450 {
		t.Errorf("%d events; want %d", got, 8*450)
	}
}
