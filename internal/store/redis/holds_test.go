package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// places returns a limit of requests in flight.
func places(most int64) limit.Limit {
	return limit.Limit{Name: "places", Algorithm: limit.InFlight, Capacity: most, Window: 90 * sec}
}

// both makes the same calls on a store and on one in memory. Their receipts have
// different generations.
type both struct {
	*rapid.T
	store, memory limit.Store
	made          []made // charges that can be settled
}

type made struct {
	c             *limit.Charge
	store, memory limit.Receipt
}

// agree compares the verdicts of a call that was made at a time.
func (b *both) agree(c *limit.Charge, now time.Time, got, want *limit.Verdict) {
	g, w := *got, *want
	g.Snapshot = false
	if (g.Receipt.Generation == "") != (w.Receipt.Generation == "") {
		b.Errorf("generation %q, want %q", g.Receipt.Generation, w.Receipt.Generation)
	}
	g.Receipt.Generation, w.Receipt.Generation, w.Receipt.Serial = "", "", 0
	if !w.Allowed {
		g.Receipt, w.Receipt = limit.Receipt{}, limit.Receipt{}
	}
	if diff := cmp.Diff(w, g); diff != "" {
		b.Fatalf("%v: %+v (-memory +redis):\n%s", now.Sub(epoch), *c, diff)
	}
}

func (b *both) sameError(got, want error) {
	for _, err := range []error{limit.ErrClosed, limit.ErrReset, nil} {
		if errors.Is(got, err) != errors.Is(want, err) {
			b.Fatalf("%v, want %v", got, want)
		}
	}
}

func (b *both) decide(now time.Time, cs []*limit.Charge, call func(limit.Store, []*limit.Verdict) error) (allowed bool) {
	n, allowed := len(cs), true
	got, want := make([]*limit.Verdict, n), make([]*limit.Verdict, n)
	for i := range cs {
		got[i], want[i] = &limit.Verdict{}, &limit.Verdict{}
	}
	if err := errors.Join(call(b.store, got), call(b.memory, want)); err != nil {
		b.Fatalf("%v: %+v: %v", now.Sub(epoch), *cs[0], err)
	}
	for i, c := range cs {
		b.agree(c, now, got[i], want[i])
		allowed = allowed && want[i].Allowed
	}
	for i := range cs {
		if allowed && want[i].Receipt.Generation != "" {
			b.made = append(b.made, made{cs[i], got[i].Receipt, want[i].Receipt})
		}
	}
	return allowed
}

// TestHoldsAsInMemory makes random calls with and without holds on a store and on
// one in memory, which must answer the same.
func TestHoldsAsInMemory(t *testing.T) {
	server := servers.StartRedis(t)
	connection := connect(t, server.URL())
	stores := []limit.Store{
		redis.New(connection, redis.Options{CallerClock: true}),
		redis.New(connection, redis.Options{CallerClock: true, Clock: clock.Machine(time.Now), OneServer: true}),
	}
	rapid.Check(t, func(t *rapid.T) {
		b := &both{T: t, store: rapid.SampledFrom(stores).Draw(t, "store"), memory: memory.New(0)}
		rules := map[string][]limit.Limit{fresh(): drawRule(t), fresh(): drawRule(t)}
		var keys []string
		for key := range rules {
			keys = append(keys, key)
		}
		now := epoch.Add(time.Duration(rapid.IntRange(0, 999).Draw(t, "start")))
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			now = b.step(now, rules, keys)
		}
	})
}

func drawRule(t *rapid.T) (limits []limit.Limit) {
	for i, l := range []limit.Limit{
		places(rapid.Int64Range(1, 3).Draw(t, "places")),
		storetest.Sliding(6, 10*sec, sec), storetest.Weighted(6, 5*sec), storetest.Exact(6, 5*sec),
		storetest.Token(1, sec, 6), storetest.Leaky(1, sec, 6), calendar(limit.Day, time.UTC),
	} {
		if rapid.IntRange(0, 2).Draw(t, "has") == 0 || i == 6 && limits == nil {
			l.Capacity = max(l.Capacity, 1)
			if l.Calendar != nil {
				l.Capacity = 9
			}
			limits = append(limits, l)
		}
	}
	return limits
}

// ids are such that the bytes of one occur in others, in times and in slots.
var ids = []uint64{1, 1 << 56, 0x0101010101010101, 0xffffffffffffffff, 0x4278_0000_0000_0000, 0x00000042_78000000}

func drawCharge(t *rapid.T, key string, limits []limit.Limit) *limit.Charge {
	c := &limit.Charge{Key: key, Limits: limits, Costs: make([]int64, len(limits))}
	if rapid.IntRange(0, 4).Draw(t, "plain") > 0 {
		c.Hold = limit.Opening{
			ID: rapid.SampledFrom(ids).Draw(t, "id"), Most: rapid.Int64Range(1, 4).Draw(t, "most"),
			For: rapid.SampledFrom([]time.Duration{sec, 1500*time.Millisecond + 1, 4 * sec, 90 * sec}).Draw(t, "for"),
		}
	}
	for i := range limits {
		c.Costs[i] = rapid.Int64Range(0, 3).Draw(t, "cost")
		if limits[i].Algorithm == limit.InFlight {
			c.Costs[i] = min(c.Costs[i], 1)
			if c.Hold.ID == 0 {
				c.Costs[i] = 0
			}
		}
	}
	return c
}

// step makes a random call, and returns the time of the next one.
func (b *both) step(now time.Time, rules map[string][]limit.Limit, keys []string) time.Time {
	ctx, t := context.Background(), b.T
	a := drawCharge(t, keys[0], rules[keys[0]])
	call := rapid.SampledFrom([]string{"charge", "charge", "charge", "all", "peek", "settle", "settle", "renew", "reset"}).Draw(t, "call")
	if len(b.made) == 0 && (call == "settle" || call == "renew") {
		call = "charge"
	}
	next := rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, 300 * time.Millisecond, sec, 3 * sec, -sec, 10 * sec}).Draw(t, "pass")
	switch call {
	case "charge":
		b.decide(now, []*limit.Charge{a}, func(s limit.Store, vs []*limit.Verdict) error { return s.Charge(ctx, now, a, vs[0]) })
	case "peek":
		made := b.made
		b.decide(now, []*limit.Charge{a}, func(s limit.Store, vs []*limit.Verdict) error { return s.Peek(ctx, now, a, vs[0]) })
		b.made = made
	case "all":
		cs := []*limit.Charge{a, drawCharge(t, keys[1], rules[keys[1]])}
		b.decide(now, cs, func(s limit.Store, vs []*limit.Verdict) error { return s.ChargeAll(ctx, now, cs, vs) })
	case "reset":
		if rapid.IntRange(0, 3).Draw(t, "resets") == 0 {
			b.sameError(b.store.Reset(ctx, a.Key), b.memory.Reset(ctx, a.Key))
		}
	case "settle", "renew":
		m := rapid.SampledFrom(b.made).Draw(t, "made")
		if call == "renew" {
			if m.memory.Hold != 0 {
				b.sameError(b.store.Renew(ctx, now, m.c, &m.store), b.memory.Renew(ctx, now, m.c, &m.memory))
			}
			break
		}
		deltas := make([]int64, len(m.c.Limits))
		for i := range deltas {
			if l := &m.c.Limits[i]; l.Correctable() {
				deltas[i] = rapid.Int64Range(-m.c.Costs[i], 2).Draw(t, "delta")
			}
		}
		b.sameError(b.store.Settle(ctx, now, m.c, &m.store, deltas), b.memory.Settle(ctx, now, m.c, &m.memory, deltas))
		if m.memory.Hold != 0 && rapid.Bool().Draw(t, "until its end") {
			return time.UnixMilli(m.memory.Until).Add(limit.HoldMargin + time.Duration(rapid.IntRange(-1, 1).Draw(t, "near")))
		}
	}
	return now.Add(next)
}

