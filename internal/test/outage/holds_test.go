package outage_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

const term = 10 * time.Second // of a place

var ofFive = []limit.Limit{
	{Name: "places", Algorithm: limit.InFlight, Capacity: 5, Window: term},
	{Name: "units", Capacity: 1e9, Window: time.Hour, Granularity: time.Minute},
}

// plan says what fails in a bubble.
type plan struct {
	name   string
	faults float64       // the share of calls that fail in each way
	wrong  time.Duration // how wrong clocks are at most
	resets int           // of 1,000 requests
}

// bubble is a counter of five places and of units, and what it must have. Lambdas
// share it in the time of the bubble.
type bubble struct {
	plan
	mu      sync.Mutex
	table   *dynamomodel.Table
	working map[uint64]bool // by true time, since the last reset
	moved   map[[2]uint64]bool
	units   int64
	counts  map[string]int
}

// simulated is a Lambda with a clock of its own.
type simulated struct {
	dynamo.API
	*bubble
	*rand.Rand
	read  func() clock.Reading
	clock *dynamo.Clock
	store *dynamo.Store
}

func (b *bubble) newLambda(r *rand.Rand) *simulated {
	l := &simulated{bubble: b, Rand: r}
	start, off := time.Now(), time.Duration((2*r.Float64()-1)*float64(b.wrong))
	l.read = func() clock.Reading { return clock.Reading{Wall: time.Now().Add(off), Mono: time.Since(start)} }
	l.clock = dynamo.NewClock(l.read)
	l.clock.Observe(l.read(), time.Now().Truncate(time.Second))
	l.store = dynamo.New(l, "counters", dynamo.Options{Wall: l.clock.Now, Confirmed: l.clock.Confirmed})
	return l
}

func (l *simulated) about(mean time.Duration) time.Duration {
	return time.Duration(l.ExpFloat64() * float64(mean))
}

// send makes a call over a network that loses and delays it.
func send[Out any](ctx context.Context, l *simulated, call func() (*Out, error)) (*Out, error) {
	arrive := func() (*Out, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return call()
	}
	sent, fate := l.read(), l.Float64()/max(l.faults, 1e-9)
	if fate < 2 { // lost, or done after the deadline
		if fate < 1 {
			time.AfterFunc(l.about(term), func() { _, _ = arrive() })
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(l.about(5 * time.Millisecond))
	out, err := arrive()
	date := time.Now().Truncate(time.Second)
	if time.Sleep(l.about(5 * time.Millisecond)); fate < 3 {
		return nil, errors.New("connection reset")
	}
	l.clock.Observe(sent, date)
	return out, err
}

type effect struct{}

// UpdateItem writes the item. A write that takes effect does what the context says.
func (l *simulated) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return send(ctx, l, func() (*dynamodb.UpdateItemOutput, error) {
		out, err := l.table.UpdateItem(background, in)
		if err == nil {
			ctx.Value(effect{}).(func())()
		}
		return out, err
	})
}

// GetItem reads the item.
func (l *simulated) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return send(ctx, l, func() (*dynamodb.GetItemOutput, error) { return l.table.GetItem(background, in) })
}

// do makes a call of the store whose writes move the units of a hold once.
func (l *simulated) do(name string, id uint64, units int64, call func(ctx context.Context, now time.Time) error) (gone bool, err error) {
	once := [2]uint64{id, uint64(len(name))}
	ctx, cancel := context.WithTimeout(context.WithValue(background, effect{}, func() {
		if l.moved[once] && units != 0 {
			l.counts["moved twice"]++
		}
		l.moved[once], l.units = true, l.units+units
	}), 250*time.Millisecond)
	defer cancel()
	err = call(ctx, l.clock.Now())
	gone = errors.Is(err, limit.ErrClosed) || errors.Is(err, limit.ErrReset)
	if err != nil && !gone {
		name += " failed"
	} else if gone {
		name += " of none"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[name]++
	return gone, err
}

// live takes places for ten minutes.
func (l *simulated) live() {
	for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(l.about(time.Second)) {
		if l.IntN(1000) < l.resets {
			l.mu.Lock()
			l.table.Delete("key")
			clear(l.working)
			l.units, l.counts["resets"] = 0, l.counts["resets"]+1
			l.mu.Unlock()
		}
		c := &limit.Charge{Key: "key", Limits: ofFive, Costs: []int64{1, 1 + l.Int64N(100)}, Hold: limit.Opening{ID: 1 + l.Uint64N(1<<60), For: term}}
		var v limit.Verdict
		if l.store.Denies(l.clock.Now(), c, &v) {
			continue
		}
		l.mu.Lock()
		end, resets := time.Now().Add(term), l.counts["resets"]
		l.mu.Unlock()
		_, err := l.do("open", c.Hold.ID, c.Costs[1], func(ctx context.Context, now time.Time) error { return l.store.Charge(ctx, now, c, &v) })
		if err == nil && v.Allowed {
			l.work(c, &v.Receipt, end, resets)
		}
	}
}

// work works in a place until its end by the monotonic clock at most. Then the
// Lambda and another one settle at once, or it crashes. A reset since the place was
// asked for gives it to others.
func (l *simulated) work(c *limit.Charge, r *limit.Receipt, end time.Time, resets int) {
	l.mu.Lock()
	if resets == l.counts["resets"] {
		l.working[c.Hold.ID] = true
	}
	l.counts["most at work"] = max(l.counts["most at work"], len(l.working))
	l.mu.Unlock()
	for left := l.about(term); left > 0 && time.Now().Before(end); {
		step := min(left, term/2, time.Until(end))
		time.Sleep(step)
		now := time.Now()
		if left -= step; left <= 0 || !now.Before(end) {
			break
		}
		gone, err := l.do("renewal", c.Hold.ID, 0, func(ctx context.Context, now time.Time) error { return l.store.Renew(ctx, now, c, r) })
		if gone {
			l.mu.Lock()
			if resets == l.counts["resets"] {
				l.counts["lost in time"]++
			}
			l.mu.Unlock()
			break
		} else if err == nil {
			end = now.Add(term)
		}
	}
	l.mu.Lock()
	delete(l.working, c.Hold.ID)
	l.mu.Unlock()
	other := l.newLambda(rand.New(rand.NewPCG(l.Uint64(), 0)))
	if l.IntN(5) == 0 {
		*l = *other
		return
	}
	delta, settlers := l.Int64N(200)-c.Costs[1], sync.WaitGroup{}
	for _, by := range []*simulated{l, other} {
		settlers.Go(func() {
			_, _ = by.do("settlement", c.Hold.ID, delta, func(ctx context.Context, now time.Time) error {
				return by.store.Settle(ctx, now, c, r, []int64{0, delta})
			})
		})
	}
	settlers.Wait()
}

// TestSimulatedPlaces has 20 Lambdas take five places in worlds with faults.
func TestSimulatedPlaces(t *testing.T) {
	for i, p := range []plan{
		{"calm", 0, 0, 0}, {"faults", 0.04, 0, 0}, {"clocks", 0.02, time.Second, 0}, {"resets", 0.02, time.Second, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &bubble{plan: p, table: dynamomodel.New("counters", "k"), working: map[uint64]bool{}, moved: map[[2]uint64]bool{}, counts: map[string]int{}}
			var all sync.WaitGroup
			for n := range uint64(20) {
				all.Go(b.newLambda(rand.New(rand.NewPCG(*seed+uint64(i), n))).live)
			}
			all.Wait()
			time.Sleep(10 * time.Minute) // late calls
			b.plan = plan{}
			l, v := b.newLambda(rand.New(rand.NewPCG(*seed, 0))), limit.Verdict{}
			if err := l.store.Peek(background, l.clock.Now(), &limit.Charge{Key: "key", Limits: ofFive, Costs: []int64{0, 0}}, &v); err != nil {
				t.Fatal(err)
			}
			t.Log(p.name, b.counts)
			if n := b.counts; n["most at work"] != 5 || n["moved twice"] > 0 || n["lost in time"] > 0 || v.Limits[0].Remaining != 5 || 1e9-v.Limits[1].Remaining != b.units {
				t.Errorf("%s, seed %d: at the end %d places are free, and the units are %d off", p.name, *seed, v.Limits[0].Remaining, 1e9-v.Limits[1].Remaining-b.units)
			}
		})
	}
}
