package redis_test

import (
	"context"
	"errors"
	"math"
	"strings"
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

// ids are such that the bytes of one occur in others, in times and in slots, or are
// a pattern to Lua.
var ids = []uint64{1, 0x2e2e2e2e_2e2e2e2e, 1 << 56, 0x0101010101010101, 0xffffffffffffffff, 0x4278_0000_0000_0000, 0x00000042_78000000}

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
		if m.memory.Hold != 0 && rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
			lost := limit.Receipt{Hold: m.memory.Hold, Until: m.memory.Until}
			m.store, m.memory = lost, lost
		}
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

// TestStoredHolds checks the field that docs/redis.md shows, and until when the
// counter stays: an hour and three seconds after the last hold has ended. A plain
// charge keeps the holds, and does not shorten that.
func TestStoredHolds(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{CallerClock: true, NewGeneration: func() string { return "life" }})
	start := time.Unix(1_000_000_000, 0)
	limits := []limit.Limit{storetest.Sliding(9, 3*sec, sec), storetest.Token(1, sec, 3), places(3)}
	var c *limit.Charge
	made := map[uint64]limit.Receipt{}
	open := func(id uint64, length time.Duration) func(now time.Time) error {
		return func(now time.Time) error {
			c = request("rule|stored|s", limits, 2, 1, 1)
			c.Hold = limit.Opening{ID: id, For: length}
			v := charge(t, store, now, c)
			made[id] = v.Receipt
			return nil
		}
	}
	settle := func(id uint64) func(now time.Time) error {
		return func(now time.Time) error {
			r := made[id]
			return store.Settle(t.Context(), now, c, &r, []int64{-1, 0, 0})
		}
	}
	renew := func(id uint64, length time.Duration) func(now time.Time) error {
		return func(now time.Time) error {
			longer, r := *c, made[id]
			longer.Hold.For = length
			return store.Renew(t.Context(), now, &longer, &r)
		}
	}
	plain := func(now time.Time) error {
		charge(t, store, now, request("rule|stored|s", limits, 1, 0, 0))
		return nil
	}
	const first = 1_000_000_000_000
	hold := func(id uint64, end, opened float64) string {
		return redis.PackHold(id, first+end, first+opened, 1e9+math.Floor(opened/1000), 2, 0, 1, 0, 1)
	}
	for _, step := range []struct {
		at    time.Duration
		name  string
		call  func(now time.Time) error
		holds string
		ttl   time.Duration // besides the hour, from at on
	}{
		{0, "opened", open(1<<63+5, 90*sec), hold(1<<63+5, 90000, 0), 93 * sec},
		{1500*time.Millisecond + 1, "another, which ends before", open(2, 2*sec), hold(2, 3501, 1500) + hold(1<<63+5, 90000, 0), 92 * sec},
		{2 * sec, "a third, between them", open(3, 10*sec), hold(2, 3501, 1500) + hold(3, 12000, 2000) + hold(1<<63+5, 90000, 0), 91 * sec},
		{3 * sec, "repeated", open(2, 10*sec), hold(2, 3501, 1500) + hold(3, 12000, 2000) + hold(1<<63+5, 90000, 0), 91 * sec},
		{4 * sec, "a plain charge in a new slot", plain, hold(2, 3501, 1500) + hold(3, 12000, 2000) + hold(1<<63+5, 90000, 0), 89 * sec},
		{6501 * time.Millisecond, "the first has ended", open(4, 90*sec), hold(3, 12000, 2000) + hold(1<<63+5, 90000, 0) + hold(4, 96501, 6501), 94 * sec},
		{7 * sec, "renewed", renew(3, 200*sec), hold(1<<63+5, 90000, 0) + hold(4, 96501, 6501) + hold(3, 207000, 2000), 203 * sec},
		{7 * sec, "renewed for less", renew(3, 50*sec), hold(1<<63+5, 90000, 0) + hold(4, 96501, 6501) + hold(3, 207000, 2000), 203 * sec},
		{8 * sec, "settled", settle(4), hold(1<<63+5, 90000, 0) + hold(3, 207000, 2000), 203 * sec},
		{8 * sec, "another one settled", settle(3), hold(1<<63+5, 90000, 0), 203 * sec},
		{9 * sec, "a plain charge after that", plain, hold(1<<63+5, 90000, 0), 84 * sec},
		{9 * sec, "the last one settled", settle(1<<63 + 5), "", 84 * sec},
		{20 * sec, "a plain charge without holds", plain, "", 4 * sec},
	} {
		if err := step.call(start.Add(step.at)); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.holds, stored(t, server, "rule|stored|s")["holds"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		wantTTL(t, server, "rule|stored|s", step.ttl)
	}
	if err := settle(3)(start.Add(20 * sec)); !errors.Is(err, limit.ErrClosed) {
		t.Errorf("settled again: %v", err)
	}
	if got := stored(t, server, "rule|stored|s"); got["a"] != window(1e9+20, 1, 0) {
		t.Errorf("settled again: %x", got["a"])
	}
	for _, gone := range []func() error{
		func() error { return store.Reset(t.Context(), c.Key) },
		func() error {
			return server.Client.HSet(t.Context(), prefix+c.Key, "life", "another", "holds", hold(3, 90000, 0)).Err()
		},
	} {
		if err := gone(); err != nil {
			t.Fatal(err)
		}
		if err := settle(3)(start); !errors.Is(err, limit.ErrReset) {
			t.Error(err)
		}
		if err := renew(3, sec)(start); !errors.Is(err, limit.ErrReset) {
			t.Error(err)
		}
	}
}

// TestLateMessages sends messages about an earlier opening of an ID, and about a
// charge whose answer was lost.
func TestLateMessages(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{CallerClock: true, NewGeneration: func() string { return "life" }})
	c := request("rule|late|s", []limit.Limit{storetest.Sliding(9, time.Minute, sec), places(2)}, 2, 1)
	c.Hold = limit.Opening{ID: 5, For: 90 * sec}
	earlier := charge(t, store, epoch, c).Receipt
	if err := store.Settle(t.Context(), epoch, c, &earlier, []int64{0, 0}); err != nil {
		t.Fatal(err)
	}
	later := charge(t, store, epoch.Add(time.Millisecond), c).Receipt
	unsure, elsewhere, never := earlier, later, limit.Receipt{Hold: 6}
	unsure.Generation, elsewhere.Generation = "", "x"
	lost := limit.Receipt{Hold: 5}
	settle := func(r *limit.Receipt, units int64) error {
		return store.Settle(t.Context(), epoch.Add(sec), c, r, []int64{units, 0})
	}
	renew := func(r *limit.Receipt, _ int64) error { return store.Renew(t.Context(), epoch.Add(sec), c, r) }
	slot, ms := float64(epoch.Unix()), float64(epoch.UnixMilli())
	charged := window(slot, 4, 0)
	opened := redis.PackHold(5, ms+90001, ms+1, slot, 2, 0, 1)
	renewed := redis.PackHold(5, ms+91000, ms+1, slot, 2, 0, 1)
	for _, step := range []struct {
		name     string
		call     func(r *limit.Receipt, units int64) error
		receipt  *limit.Receipt
		units    int64
		want     error
		a, holds string
	}{
		{"a late settlement", settle, &earlier, -2, limit.ErrClosed, charged, opened},
		{"a late settlement for more", settle, &earlier, 2, limit.ErrClosed, charged, opened},
		{"a late renewal", renew, &earlier, 0, limit.ErrClosed, charged, opened},
		{"a late settlement without a generation", settle, &unsure, 2, limit.ErrClosed, charged, opened},
		{"a settlement of another generation", settle, &elsewhere, -2, limit.ErrReset, charged, opened},
		{"a lost answer to a charge that was not made", settle, &never, 2, limit.ErrClosed, charged, opened},
		{"a renewal", renew, &later, 0, nil, charged, renewed},
		{"a late settlement after it", settle, &earlier, -2, limit.ErrClosed, charged, renewed},
		{"a lost answer", settle, &lost, -2, nil, charged, ""}, // the slot that it charged is not known
		{"a lost answer, again", settle, &lost, 2, limit.ErrClosed, charged, ""},
		{"a settlement", settle, &later, -2, limit.ErrClosed, charged, ""},
		{"opened again", func(*limit.Receipt, int64) error {
			return store.Charge(t.Context(), epoch.Add(time.Millisecond), c, &limit.Verdict{})
		}, nil, 0, nil, window(slot, 6, 0), opened},
		{"a lost answer to a charge for more", settle, &lost, 2, nil, window(slot+1, 2, 6), ""},
	} {
		if err := step.call(step.receipt, step.units); !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		got := stored(t, server, c.Key)
		if diff := cmp.Diff([]string{step.a, step.holds}, []string{got["a"], got["holds"]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
	c.Key = "rule|never|s"
	if err := settle(&lost, 2); !errors.Is(err, limit.ErrClosed) || len(stored(t, server, c.Key)) > 0 {
		t.Errorf("without a counter: %v, %q", err, stored(t, server, c.Key))
	}
}

// TestHoldsWriteNothing checks that a charge made before, one without a place and
// a renewal that is not later change nothing that the server would replicate.
func TestHoldsWriteNothing(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	c := request(fresh(), []limit.Limit{storetest.Sliding(9, time.Minute, sec), places(1)}, 1, 1)
	c.Hold = limit.Opening{ID: 5, For: 90 * sec}
	first := charge(t, store, epoch, c)
	const changes = "rdb_changes_since_last_save"
	before := info(t, server, "persistence", changes)
	other := *c
	other.Hold.ID = 6
	if v := charge(t, store, epoch.Add(sec), c); !v.Allowed || v.Before == nil {
		t.Errorf("made before: %+v", v)
	}
	if v := charge(t, store, epoch.Add(sec), &other); v.Allowed || !v.ByHolds || v.RetryAfter != limit.HoldRetry {
		t.Errorf("without a place: %+v", v)
	}
	if err := store.Renew(t.Context(), epoch, c, &first.Receipt); err != nil {
		t.Error(err)
	}
	if got := info(t, server, "persistence", changes); got != before {
		t.Errorf("%d changes, want none", got-before)
	}
}

// TestHoldsByTheServerClock checks that the end of a hold counts by the server's
// clock, that its receipt tells it by the caller's, and that a counter whose holds end more than a day and three seconds
// after it is an error.
func TestHoldsByTheServerClock(t *testing.T) {
	server := servers.StartRedis(t)
	store := redis.New(connect(t, server.URL()), redis.Options{})
	c := request(fresh(), []limit.Limit{places(9)}, 1)
	c.Hold = limit.Opening{ID: 5, For: 90 * sec}
	before := serverTime(t, server)
	v := charge(t, store, epoch, c)
	after := serverTime(t, server)
	if v.Receipt.Opened < before.UnixMilli() || v.Receipt.Opened > after.UnixMilli() {
		t.Errorf("opened at %d, want %v to %v", v.Receipt.Opened, before, after)
	}
	if off := v.Receipt.Until - c.Hold.Until(epoch); off < -1 || off > 1 { // the caller does not know the server's clock
		t.Errorf("until %d, want %d", v.Receipt.Until, c.Hold.Until(epoch))
	}
	for ahead, want := range map[time.Duration]error{limit.MaxHold: nil, limit.MaxHold + 10*sec: redis.ErrAhead} {
		c.Key = fresh()
		record := redis.PackHold(7, float64(serverTime(t, server).Add(ahead).UnixMilli()), 0, 0, 1)
		if err := server.Client.HSet(t.Context(), prefix+c.Key, "life", "x", "holds", record).Err(); err != nil {
			t.Fatal(err)
		}
		if err := store.Charge(t.Context(), epoch, c, v); !errors.Is(err, want) {
			t.Errorf("%v ahead: %v, want %v", ahead, err, want)
		}
		if err := store.Settle(t.Context(), epoch, c, &limit.Receipt{Generation: "x", Hold: 7}, []int64{0}); err != nil {
			t.Errorf("%v ahead: %v", ahead, err)
		}
	}
}

// TestForeignHolds checks that every call that reads a field of holds which the
// script did not write is an error, and changes nothing.
func TestForeignHolds(t *testing.T) {
	server := servers.StartRedis(t)
	store := open(t, server)
	limits := []limit.Limit{storetest.Sliding(9, time.Minute, sec)}
	const opened = 1711835000000
	good := redis.PackHold(7, 1711836090000, opened, 1711836000, 1)
	for name, field := range map[string]string{
		"part of a hold":        good[1:],
		"of two limits":         redis.PackHold(7, 1711836090000, opened, 1711836000, 1, 0, 1),
		"part of a millisecond": redis.PackHold(7, 1711836090000.5, opened, 1711836000, 1),
		"no end":                redis.PackHold(7, math.NaN(), opened, 1711836000, 1),
		"an end in 9999":        redis.PackHold(7, 253370764800000, opened, 1711836000, 1),
		"an end before all":     redis.PackHold(7, -9223372032001, opened, 1711836000, 1),
		"no first end":          redis.PackHold(7, math.NaN(), opened, 1711836000, 1) + good,
		"out of order":          redis.PackHold(9, 1711835990000, opened, 1, 1) + redis.PackHold(8, 1711835980000, opened, 1, 1) + good,
	} {
		c := request(fresh(), limits, 1)
		if err := server.Client.HSet(t.Context(), prefix+c.Key, "life", "x", "a", window(1711835990, 1, 0), "holds", field).Err(); err != nil {
			t.Fatal(err)
		}
		before := stored(t, server, c.Key)
		held := *c
		held.Hold = limit.Opening{ID: 5, For: 90 * sec, Most: 9}
		r := limit.Receipt{Generation: "x", Hold: 7}
		calls := map[string]error{
			"Charge":    store.Charge(t.Context(), epoch, &held, &limit.Verdict{}),
			"Peek":      store.Peek(t.Context(), epoch, &held, &limit.Verdict{}),
			"ChargeAll": store.ChargeAll(t.Context(), epoch, []*limit.Charge{request(fresh(), limits, 1), &held}, []*limit.Verdict{{}, {}}),
			"Settle":    store.Settle(t.Context(), epoch, c, &r, []int64{1}),
			"Renew":     store.Renew(t.Context(), epoch, &held, &r),
		}
		if name != "no first end" && name != "out of order" { // a plain charge reads the last one
			calls["plain"] = store.Charge(t.Context(), epoch, c, &limit.Verdict{})
		}
		for call, err := range calls {
			if !errors.Is(err, redis.ErrForeign) || !errors.Is(err, limit.ErrGroup) || !strings.Contains(err.Error(), "holds") {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		if diff := cmp.Diff(before, stored(t, server, c.Key)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	c := request(fresh(), []limit.Limit{places(9)}, 1)
	c.Hold = limit.Opening{ID: 5, For: 90 * sec}
	if err := server.Client.HSet(t.Context(), prefix+c.Key, "life", "x", "a", window(1711835990, 1, 0)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := store.Charge(t.Context(), epoch, c, &limit.Verdict{}); !errors.Is(err, redis.ErrForeign) {
		t.Errorf("a window in place of a limit in flight: %v", err)
	}
}
