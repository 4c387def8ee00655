package engine_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// places is a limit of two requests in flight, for 90 s each.
const places = `limits: [{name: places, in_flight: 2, expires: 90s}]`

// taken returns how many of two places a rule's counter in a store has taken.
func taken(t *testing.T, s limit.Store, d *engine.Decision, rule string) int64 {
	t.Helper()
	for v := range d.All() {
		if v.Rule.Name == rule {
			c := v.Charge
			c.Hold, c.Costs = limit.Opening{}, make([]int64, len(c.Limits))
			var now limit.Verdict
			if err := s.Peek(t.Context(), time.Now(), &c, &now); err != nil {
				t.Fatal(err)
			}
			return c.Limits[0].Capacity - now.Limits[0].Remaining
		}
	}
	t.Fatalf("no verdict of rule %s", rule)
	return 0
}

// now decides by the time of the bubble.
func (b *fixture) now(t *testing.T) *engine.Decision {
	t.Helper()
	d, err := b.engine.Decide(t.Context(), time.Now(), &request.Request{Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPlaces: a place is taken until the decision is finished, whatever the outcome.
func TestPlaces(t *testing.T) {
	b := newFixture(t, "rules: [{name: work, key: all, refund_on: [503], limits: [{name: places, in_flight: 2, expires: 90s}, {name: rate, capacity: 9, window: 60s}]}]")
	for i, o := range []*engine.Outcome{{}, {Status: 200}, {Status: 503}, {Aborted: true}} {
		first, second, third := b.now(t), b.now(t), b.now(t)
		if !second.Allowed || third.Allowed || third.Verdicts[0].RetryAfter != limit.HoldRetry {
			t.Fatalf("outcome %d: %+v, then %+v", i, second.Verdicts[0].Result, third.Verdicts[0].Result)
		}
		for _, d := range []*engine.Decision{first, second} {
			b.engine.Finish(t.Context(), time.Now(), d, o)
		}
		if got := taken(t, b.store, first, "work"); got != 0 {
			t.Errorf("outcome %d: %d places are taken after the end", i, got)
		}
	}
	closes := []string{"close", "close", "close", "close", "refund", "refund", "close", "close"}
	if got := slices.DeleteFunc(b.recorder.calls, func(name string) bool { return name == engine.CallCharge }); !slices.Equal(got, closes) {
		t.Errorf("calls %q, want %q", got, closes)
	}
}

// TestPlacesComeLast: rules in flight are charged after all others, and a place is
// given back if a later rule denies.
func TestPlacesComeLast(t *testing.T) {
	const first, rate = `{name: first, key: all, ` + places + `}`, `{name: rate, key: all, limits: [{capacity: 3, window: 60s}]}`
	const second = `{name: second, key: "ip:{ip}", ` + places + `}`
	const group = `{name: one, atomic: true, key: all, limits: [{capacity: 9, window: 60s}]}, {name: two, atomic: true, key: all, limits: [{capacity: 9, window: 60s}]}`
	for name, test := range map[string]struct {
		rules   string
		batches *bool
		want    string // the rules of each charge
	}{
		"beside a rule":           {first + ", " + rate, nil, "rate, first"},
		"two of them":             {first + ", " + rate + ", " + second, nil, "rate, first, second"},
		"beside a group":          {first + ", " + group, nil, "one+two, first"},
		"by the lowest rate":      {first + ", " + rate + ", " + group, new(false), "rate, one+two, first"},
		"all of them in one call": {first + ", " + rate + ", " + second, new(true), "rate+first+second"},
	} {
		b := newFixture(t, "rules: ["+test.rules+"]")
		if test.batches != nil {
			of, store := newBatcherFixture(t, "rules: ["+test.rules+"]")
			b, store.apart = of, !*test.batches
		}
		b.store.NoSnapshot = true
		d := b.now(t)
		var got []string
		for _, c := range b.store.Calls(fakestore.Charge) {
			got = append(got, strings.Join(c.Rules(), "+"))
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s: charged %s, want %s", name, got, test.want)
		}
		b.store.Hook = func(c *fakestore.Call) error {
			if slices.Contains(c.Rules(), "second") && c.Op == fakestore.Charge && test.batches == nil {
				return fakestore.Deny(time.Second)(c)
			}
			return nil
		}
		if again := b.now(t); again.Allowed == strings.Contains(name, "two") || taken(t, b.store, d, "first") != map[bool]int64{true: 2, false: 1}[again.Allowed] {
			t.Errorf("%s: %d places are taken after %+v", name, taken(t, b.store, d, "first"), again)
		}
	}
}

// TestOccupy is a table of works: what the store does with renewals, when they are
// sent, how the work ends, and what is reported.
func TestOccupy(t *testing.T) {
	from := func(start, end time.Duration, err error) func(time.Duration) error {
		return func(at time.Duration) error {
			if start <= at && at < end {
				return err
			}
			return nil
		}
	}
	healthy, s := from(0, 0, nil), time.Second
	for name, test := range map[string]struct {
		mode, onError string
		renewal       func(at time.Duration) error
		works         time.Duration
		want          []time.Duration // renewals
		ends          time.Duration   // when the work's context ends by itself; 0 for never
		failures      []failure
	}{
		"a short work":              {"enforce", "local", healthy, 44 * s, nil, 0, nil},
		"a long work":               {"enforce", "local", healthy, 200 * s, []time.Duration{45 * s, 90 * s, 135 * s, 180 * s}, 0, nil},
		"a short outage":            {"enforce", "deny", from(40*s, 50*s, errDown), 100 * s, []time.Duration{45 * s, 49500 * time.Millisecond, 54 * s, 99 * s}, 0, nil},
		"the place is another's":    {"enforce", "allow", from(0, 999*s, limit.ErrClosed), 100 * s, []time.Duration{45 * s}, 45 * s, []failure{{"renew", "work", "all"}}},
		"the counter was reset":     {"enforce", "deny", from(0, 999*s, limit.ErrReset), 100 * s, []time.Duration{45 * s}, 0, []failure{{"renew", "work", "all"}}},
		"an outage, on_error deny":  {"enforce", "deny", from(0, 999*s, errDown), 100 * s, outage(), 90 * s, []failure{{"renew: deny", "work", "all"}}},
		"an outage, on_error allow": {"enforce", "allow", from(0, 999*s, errDown), 100 * s, append(outage(), 94500*time.Millisecond, 99*s), 0, []failure{{"renew: allow", "work", "all"}}},
		"an outage, on_error local": {"enforce", "local", from(0, 999*s, errDown), 100 * s, append(outage(), 94500*time.Millisecond, 99*s), 0, []failure{{"renew: local", "work", "all"}}},
		"a shadow rule":             {"shadow", "deny", from(0, 999*s, limit.ErrClosed), 100 * s, []time.Duration{45 * s}, 0, []failure{{"renew", "work", "all"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, "rules: [{name: work, key: all, mode: "+test.mode+", on_error: "+test.onError+", "+places+"}]")
				start := time.Now()
				b.store.Hook = fakestore.On(fakestore.Renew, func(*fakestore.Call) error { return test.renewal(time.Since(start)) })
				d := b.now(t)
				work, occupied := b.engine.Occupy(t.Context(), time.Now, d)
				if !occupied {
					t.Fatal("no place is occupied")
				}
				ended := time.Duration(0)
				stop := context.AfterFunc(work, func() { ended = time.Since(start) })
				time.Sleep(test.works)
				synctest.Wait()
				if cause := context.Cause(work); ended != test.ends || (test.ends > 0) != errors.Is(cause, engine.ErrPlaceLost) {
					t.Errorf("the work ends after %v, want %v: %v", ended, test.ends, cause)
				}
				stop()
				if test.ends == 0 && test.failures == nil && taken(t, b.store, d, "work") != 1 {
					t.Errorf("%d places are taken, want 1", taken(t, b.store, d, "work"))
				}
				b.engine.Finish(t.Context(), time.Now(), d, &engine.Outcome{})
				if work.Err() == nil || b.store.Count(fakestore.Settle) != 1 {
					t.Errorf("after the end: context %v, %d settlements", work.Err(), b.store.Count(fakestore.Settle))
				}
				time.Sleep(time.Hour)
				var got []time.Duration
				for _, c := range b.store.Calls(fakestore.Renew) {
					got = append(got, c.Now.Sub(start))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("renewed at %v, want %v", got, test.want)
				}
				b.recorder.failures = slices.DeleteFunc(b.recorder.failures, func(f failure) bool { return f.action == "settle" })
				if !slices.Equal(b.recorder.failures, test.failures) {
					t.Errorf("reported %v, want %v", b.recorder.failures, test.failures)
				}
			})
		})
	}
}

// outage are the renewals of a hold of 90 s that all fail.
func outage() (at []time.Duration) {
	for i := range time.Duration(renewals + 1) {
		at = append(at, 45*time.Second+i*4500*time.Millisecond)
	}
	return at
}

const renewals = 10

// TestOccupyOutlivesTheClient: a client that hangs up ends the context of the work,
// and the place is kept until the work has noticed.
func TestOccupyOutlivesTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, "rules: [{name: work, key: all, "+places+"}]")
		d := b.now(t)
		ctx, hangUp := context.WithCancel(t.Context())
		work, _ := b.engine.Occupy(ctx, time.Now, d)
		hangUp()
		time.Sleep(time.Hour)
		if !errors.Is(work.Err(), context.Canceled) || taken(t, b.store, d, "work") != 1 {
			t.Errorf("context %v, %d places are taken, want 1", work.Err(), taken(t, b.store, d, "work"))
		}
		b.engine.Finish(ctx, time.Now(), d, &engine.Outcome{})
		if got := taken(t, b.store, d, "work"); got != 0 {
			t.Errorf("%d places are taken after the end", got)
		}
	})
}

// TestPlacesHere: while the store is down, on_error: local takes, renews and gives
// back places of this process; others take none.
func TestPlacesHere(t *testing.T) {
	for onError, want := range map[string][]bool{"local": {true, true, false}, "allow": {true, true, true}, "deny": {false, false, false}} {
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t, "{defaults: {instances: 1}, rules: [{name: work, key: all, on_error: "+onError+", "+places+"}]}")
			b.store.Hook = fakestore.Fail(errDown)
			var all []*engine.Decision
			for i, allowed := range want {
				d := b.now(t)
				_, occupied := b.engine.Occupy(t.Context(), time.Now, d)
				if d.Allowed != allowed || occupied != (onError == "local" && allowed) {
					t.Errorf("%s, request %d: allowed %v, occupied %v", onError, i, d.Allowed, occupied)
				}
				all = append(all, d)
			}
			time.Sleep(time.Hour)
			calls := b.store.Count(fakestore.Settle)
			for i, kept := range []int64{2, 1, 0} {
				if got := taken(t, b.local, all[0], "work"); got != kept && onError == "local" {
					t.Errorf("after %d ends %d places are taken here, want %d", i, got, kept)
				}
				b.engine.Finish(t.Context(), time.Now(), all[i], &engine.Outcome{})
			}
			if b.store.Count(fakestore.Renew) != 0 || b.store.Count(fakestore.Settle) != calls {
				t.Errorf("%s: %d renewals and %d settlements in the store", onError, b.store.Count(fakestore.Renew), b.store.Count(fakestore.Settle)-calls)
			}
		})
	}
}

// lossy is a store whose answers to charges are lost: those made before are counted.
type lossy struct {
	*fakestore.Store
	err error
}

func (l *lossy) Charge(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error {
	return errors.Join(l.Store.Charge(ctx, now, c, v), l.err)
}

func (l *lossy) ChargeAll(ctx context.Context, now time.Time, cs []*limit.Charge, vs []*limit.Verdict) error {
	return errors.Join(l.Store.ChargeAll(ctx, now, cs, vs), l.err)
}

func (l *lossy) Batches() bool { return true }

// TestLostAnswer: a place is given back if the answer to its charge was lost, unless
// the caller may repeat the charge, or nothing was charged for sure.
func TestLostAnswer(t *testing.T) {
	const one, two = "{name: work, key: all, on_error: allow, " + places + "}", ", {name: rate, key: all, on_error: allow, limits: [{capacity: 9, window: 60s}]}"
	for name, test := range map[string]struct {
		rules  string
		id     string
		err    error
		closed bool
	}{
		"one rule":            {one, "", errDown, true},
		"rules in one call":   {one + two, "", errDown, true},
		"a shadow rule":       {strings.Replace(one, "key", "mode: shadow, key", 1), "", errDown, true},
		"the caller's own ID": {one, "order 7", errDown, false},
		"the store throttles": {one, "", limit.Throttled("too many calls"), false},
		"the store is full":   {one, "", memory.ErrFull, false},
		"the breaker is open": {one, "", limit.ErrNotAsked, false},
		"rules without place": {two[2:], "", errDown, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t, "rules: []")
			store := &lossy{b.store, test.err}
			b.engine = engine.New(engine.Options{Rules: engine.Fixed{Set: parse(t, "rules: ["+test.rules+"]")}, Store: store, Local: b.local, Observer: b.recorder})
			req := &request.Request{Method: "GET", Path: "/"}
			if test.id != "" {
				req.Reserve = &request.Reserve{ID: test.id}
			}
			d, err := b.engine.Decide(t.Context(), time.Now(), req)
			if err != nil || !d.Allowed {
				t.Fatalf("%s: %+v, error %v", name, d, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := b.store.Count(fakestore.Settle); (got == 1) != test.closed {
				t.Errorf("%s: %d settlements", name, got)
			}
			if test.closed && taken(t, b.store, d, "work") != 0 {
				t.Errorf("%s: the place is kept", name)
			}
		})
	}
}

// TestCloseIsRepeated: a settlement that closes a hold is tried twice, and counts
// once.
func TestCloseIsRepeated(t *testing.T) {
	for name, test := range map[string]struct {
		answers  []error
		failures []failure
	}{
		"at once":              {[]error{nil}, nil},
		"by the second try":    {[]error{errDown, nil}, nil},
		"by neither":           {[]error{errDown, errDown}, []failure{{"settle", "work", "all"}}},
		"the answer was lost":  {[]error{errDown, limit.ErrClosed}, nil},
		"settled before":       {[]error{limit.ErrClosed}, []failure{{"settle", "work", "all"}}},
		"the counter is reset": {[]error{limit.ErrReset}, nil},
	} {
		b := newFixture(t, "rules: [{name: work, key: all, "+places+"}]")
		calls := 0
		b.store.Hook = fakestore.On(fakestore.Settle, func(*fakestore.Call) error {
			calls++
			return test.answers[calls-1]
		})
		b.engine.Finish(t.Context(), time.Now(), b.now(t), &engine.Outcome{})
		if calls != len(test.answers) || !slices.Equal(b.recorder.failures, test.failures) {
			t.Errorf("%s: %d calls, reported %v", name, calls, b.recorder.failures)
		}
	}
}

// TestNoPlaceCostsNothing: a decision without places is not kept.
func TestNoPlaceCostsNothing(t *testing.T) {
	b := newFixture(t, "rules: [{name: rate, key: all, limits: [{capacity: 999, window: 60s}]}]")
	d, ctx, now := b.now(t), context.Background(), time.Now()
	if got := testing.AllocsPerRun(100, func() {
		work, occupied := b.engine.Occupy(ctx, time.Now, d)
		if work != ctx || occupied {
			t.Fatal("a decision without places is occupied")
		}
		b.engine.Finish(ctx, now, d, &engine.Outcome{Status: 200})
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestPlaceOfRefused: a request that is refused for its credentials stays charged,
// and has no place.
func TestPlaceOfRefused(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: rate, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: work, key: all, `+places+`}`)
	decider := &engine.Decider{Engine: b.engine, Now: func() time.Time { return epoch }}
	for range 3 {
		if _, err := decider.DecideRequest(t.Context(), &request.Request{Method: "GET", Path: "/", Rejected: true}); !errors.Is(err, engine.ErrUnauthorized) {
			t.Errorf("error %v", err)
		}
	}
	if d := b.decide(t, "/"); !d.Allowed || b.left(t, d, "rate") != 5 {
		t.Errorf("%+v, %d of 9 are left", d, b.left(t, d, "rate"))
	}
}
