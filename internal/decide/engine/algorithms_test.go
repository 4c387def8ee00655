package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestRefunds: if a later rule denies, windows refund their charges, and a leaky
// bucket the unused turn. Token buckets and logs keep theirs.
func TestRefunds(t *testing.T) {
	b := newFixture(t, `rules:
  - name: mixed
    key: all
    cost: 3
    limits:
      - {name: bucket, algorithm: token_bucket, capacity: 50, window: 60s}
      - {name: counter, algorithm: sliding_window_counter, capacity: 50, window: 60s}
      - {name: fixed, algorithm: fixed_window, capacity: 50, window: 1mo, timezone: Europe/Berlin}
      - {name: log, algorithm: sliding_window_log, capacity: 50, window: 60s}
      - {name: sliding, capacity: 50, window: 60s}
  - {name: bucket, key: all, limits: [{algorithm: leaky_bucket, capacity: 50, window: 60s}]}
  - {name: one, key: all, limits: [{capacity: 1, window: 60s}]}
`)
	b.store.NoSnapshot = true
	first := b.decide(t, "/")
	if d := b.decide(t, "/"); d.Allowed || names(d) != "one" {
		t.Fatalf("got %+v", d)
	}
	if len(b.recorder.failures) > 0 {
		t.Errorf("recorded %v", b.recorder.failures)
	}
	v := first.Verdicts[0]
	var now limit.Verdict
	if err := b.store.Peek(t.Context(), epoch, &limit.Charge{Key: v.Rule.Item(v.Key, v.Terms), Limits: v.Rule.Limits, Costs: make([]int64, 5)}, &now); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{44, 47, 47, 44, 47} {
		if got := now.Limits[i].Remaining; got != want {
			t.Errorf("%s has %d left, want %d", v.PolicyName(i), got, want)
		}
	}
	if got := b.left(t, first, "bucket"); got != 49 {
		t.Errorf("the bucket has %d left, want 49", got)
	}
}

// TestRefundFails: a refund that fails is recorded, and the denial stands.
func TestRefundFails(t *testing.T) {
	b := newFixture(t, `rules:
  - {name: wide, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: one, key: all, limits: [{capacity: 1, window: 60s}]}
`)
	b.store.Hook, b.store.NoSnapshot = fakestore.On(fakestore.Settle, fakestore.Fail(errDown)), true
	for i, allowed := range []bool{true, false} {
		if d := b.decide(t, "/"); d.Allowed != allowed || d.Degraded {
			t.Errorf("request %d: decision %+v", i, d)
		}
	}
	if f := b.recorder.failures; len(f) != 1 || f[0] != (failure{"refund", "wide", "all"}) {
		t.Errorf("recorded %v", f)
	}
}

// TestLocalFull: if the store fails and the local store is full, the request is
// denied.
func TestLocalFull(t *testing.T) {
	set := parse(t, "rules: [{name: r, key: 'ip:{ip}', limits: [{capacity: 40, window: 60s}]}]")
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(fakestore.Fail(errDown)), Local: fakestore.New(fakestore.Fail(memory.ErrFull))})
	d, err := e.Decide(t.Context(), epoch, &request.Request{})
	if err != nil || d.Allowed || !d.Degraded || !d.Verdicts[0].Uncounted || d.Verdicts[0].RetryAfter != time.Second {
		t.Fatalf("decision %+v, error %v", d, err)
	}
	if v, _ := d.Tightest(); v != nil {
		t.Errorf("the tightest limit is %v, though no limit was counted", v.Rule.Name)
	}
}

// TestDelay: a decision has the longest delay of all rules, and a denial none.
func TestDelay(t *testing.T) {
	b := newFixture(t, `rules:
  - {name: slow, key: all, limits: [{algorithm: leaky_bucket, capacity: 60, window: 60s, queue: 3}]}
  - {name: slower, when: {path: /x}, key: all, limits: [{algorithm: leaky_bucket, capacity: 60, window: 240s, queue: 9}]}
`)
	for i, want := range []struct {
		path    string
		allowed bool
		delay   time.Duration
	}{
		{"/", true, 0}, {"/", true, time.Second}, {"/x", true, 2 * time.Second}, {"/", false, 0}, {"/x", false, 0},
	} {
		if d := b.decide(t, want.path); d.Allowed != want.allowed || d.Delay != want.delay {
			t.Errorf("request %d: allowed %t, delay %v, want %+v", i, d.Allowed, d.Delay, want)
		}
	}
	b = newFixture(t, `rules:
  - {name: slow, key: all, limits: [{algorithm: leaky_bucket, capacity: 60, window: 60s}]}
  - {name: one, key: all, limits: [{capacity: 2, window: 60s}]}
`)
	b.decide(t, "/")
	b.decide(t, "/")
	for _, b.store.NoSnapshot = range []bool{false, true} {
		if d := b.decide(t, "/"); d.Allowed || d.Delay != 0 {
			t.Errorf("no snapshot %t: a denial after a delay: %+v", b.store.NoSnapshot, d)
		}
	}
	b = newFixture(t, "rules: [{name: r, key: all, limits: [{algorithm: leaky_bucket, capacity: 100, window: 100s}]}]")
	b.store.Hook = fakestore.Down(errDown, "r") // a twentieth: five in a hundred seconds
	b.decide(t, "/")
	if d := b.decide(t, "/"); !d.Allowed || !d.Degraded || d.Delay != 20*time.Second {
		t.Errorf("counted locally: %+v", d)
	}
}

// TestLocalShare: while the store is down, this process allows its share of the
// limit, and at least one request.
func TestLocalShare(t *testing.T) {
	for _, test := range []struct {
		limit string
		want  int
	}{
		{"{capacity: 40, window: 60s}", 2},
		{"{capacity: 5, window: 60s}", 1},
		{"{capacity: 40, window: 60s, cost: 30}", 1},
		{"{capacity: 400, window: 60s, cost: 10, over: clamp}", 2},
		{"{algorithm: token_bucket, capacity: 100, window: 60s}", 5},
		{"{algorithm: token_bucket, capacity: 100, window: 60s, burst: 200}", 10},
		{"{algorithm: token_bucket, capacity: 100, window: 60s, burst: 3}", 1},
		{"{algorithm: token_bucket, capacity: 3, window: 60s, burst: 200, cost: 150}", 1},
		{"{algorithm: leaky_bucket, capacity: 100, window: 60s, queue: 40}", 2},
		{"{algorithm: token_bucket, capacity: 39, window: 3650d, burst: 39}", 1},
		{"{algorithm: token_bucket, capacity: 39, window: 365d, burst: 390}", 10}, // 19 would take longer than a bucket may
	} {
		b := newFixture(t, "rules: [{name: r, key: all, limits: ["+test.limit+"]}]")
		b.store.Hook = fakestore.Down(errDown, "r")
		got := 0
		for range 50 {
			d := b.decide(t, "/")
			if !d.Degraded || d.Verdicts[0].Uncounted {
				t.Fatalf("%s: not counted locally: %+v", test.limit, d.Verdicts[0])
			}
			if d.Allowed {
				got++
			}
		}
		if got != test.want {
			t.Errorf("%s: %d allowed, want %d", test.limit, got, test.want)
		}
	}
}

// TestLocalRate: a bucket's share of the rate does not grow with the cost of
// requests.
func TestLocalRate(t *testing.T) {
	for _, test := range []struct {
		limit string
		want  []int // requests allowed at the start, and by the end of each of the next hours
	}{
		{"{algorithm: token_bucket, capacity: 3600, window: 1h, cost: 1800}", []int{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, // 180 an hour
		{"{algorithm: token_bucket, capacity: 3600, window: 1h, cost: 90}", []int{2, 2, 2}},
		{"{algorithm: token_bucket, capacity: 5, window: 1h}", []int{1, 1, 1}}, // a unit an hour at least
		{"{capacity: 3600, window: 1h, cost: 1800}", []int{1, 0, 1, 0, 1}},     // the window frees the cost only when the slot leaves it
	} {
		b := newFixture(t, "rules: [{name: r, key: all, limits: ["+test.limit+"]}]")
		b.store.Hook = fakestore.Down(errDown, "r")
		for hour, want := range test.want {
			got := 0
			for range 20 {
				d, err := b.engine.Decide(t.Context(), epoch.Add(time.Duration(hour)*time.Hour), &request.Request{Path: "/"})
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					got++
				}
			}
			if got != want {
				t.Errorf("%s: %d allowed in hour %d, want %d", test.limit, got, hour, want)
			}
		}
	}
}

// TestHangUp: if the caller hangs up, Decide returns the context's error. It
// records no failure of the store, and all charges are refunded.
func TestHangUp(t *testing.T) {
	const document = `rules:
  - {name: a, key: all, limits: [{capacity: 5, window: 60s}]}
  - {name: b, key: all, atomic: true, on_error: deny, limits: [{capacity: 5, window: 60s}]}
  - {name: c, key: all, atomic: true, on_error: allow, limits: [{capacity: 5, window: 60s}]}
  - {name: d, key: all, limits: [{capacity: 5, window: 60s}]}
`
	set := parse(t, document)
	for calls := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		store, log := fakestore.New(nil), &recorder{}
		store.Hook = func(c *fakestore.Call) error { // like a driver, the store returns the context's error
			if c.Op == fakestore.Charge && store.Count(fakestore.Charge) > calls {
				cancel()
			}
			return c.Ctx.Err()
		}
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: memory.New(0), Observer: log, Deadline: time.Hour})
		d, err := e.Decide(ctx, epoch, &request.Request{IP: netip.MustParseAddr("203.0.113.9")})
		if !errors.Is(err, context.Canceled) || d != nil || len(log.failures) > 0 {
			t.Errorf("after %d calls: decision %+v, error %v, recorded %v", calls, d, err, log.failures)
		}
		for _, rule := range set.Rules {
			var v limit.Verdict
			c := &limit.Charge{Key: itemOf(rule), Limits: rule.Limits, Costs: []int64{0}}
			if err := store.Peek(t.Context(), epoch, c, &v); err != nil || v.Remaining != 5 {
				t.Errorf("after %d calls: rule %s has %d left, error %v", calls, rule.Name, v.Remaining, err)
			}
		}
	}
}

// TestCallersDeadline: after the caller's deadline, on_error decides, unlike
// after a hang-up.
func TestCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, "rules: [{name: r, key: all, on_error: allow, limits: [{capacity: 40, window: 60s}]}]")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: fakestore.New(fakestore.Hang), Local: memory.New(0)})
		if d, err := e.Decide(ctx, epoch, &request.Request{}); err != nil || !d.Allowed || !d.Degraded {
			t.Errorf("decision %+v, error %v", d, err)
		}
	})
}
