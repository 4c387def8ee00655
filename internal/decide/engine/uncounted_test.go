package engine_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestUncounted: where on_error decides, nothing is left in a verdict of the call
// that failed, and each limit has a result.
func TestUncounted(t *testing.T) {
	for _, kind := range []string{"", "atomic: true, "} {
		for onError, allowed := range map[string]bool{"allow": true, "deny": false} {
			b := newFixture(t, `rules:
  - {name: first, `+kind+`key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: second, `+kind+`key: all, on_error: `+onError+`, limits: [{name: a, capacity: 9, window: 60s}, {name: b, capacity: 9, window: 120s}]}
`)
			b.store.Hook = fakestore.Down(errDown, "second")
			d := b.decide(t, "/")
			v := &d.Verdicts[len(d.Verdicts)-1]
			want := limit.Result{Allowed: allowed}
			if !allowed {
				want.RetryAfter = v.RetryAfter
			}
			if d.Allowed != allowed || d.Delay != 0 || !v.Uncounted || v.Result != want || !slices.Equal(v.Limits, make([]limit.Result, 2)) {
				t.Errorf("%son_error: %s: %+v, limits %+v, delay %v", kind, onError, v.Result, v.Limits, d.Delay)
			}
		}
	}
}

// TestUncharged: a verdict has a result for each limit also where no store was
// asked: because an override denies or cannot be read.
func TestUncharged(t *testing.T) {
	const several = `limits: [{name: a, capacity: 9, window: 60s}, {name: b, capacity: 9, window: 120s}]`
	for name, test := range map[string]struct {
		document string
		err      error
	}{
		"denied": {`rules: [{name: r, key: "stage:{stage}", ` + several + `}]
overrides: {r: {"stage:prod": {deny: true}}}`, nil},
		"unreadable, denied": {`rules: [{name: r, key: all, overrides: true, on_error: deny, ` + several + `}]`, errDown},
	} {
		b := &fixture{store: fakestore.New(nil), recorder: &recorder{}}
		o := engine.Options{Rules: engine.Fixed{Set: parse(t, test.document)}, Store: b.store, Local: memory.New(0), Observer: b.recorder}
		if test.err != nil {
			o.Overrides = &operators{err: test.err}
		}
		b.engine = engine.New(o)
		d := b.decide(t, "/")
		if len(d.Verdicts) != 1 || !slices.Equal(d.Verdicts[0].Limits, make([]limit.Result, 2)) || b.store.Count(fakestore.Charge) != 0 {
			t.Errorf("%s: %+v after %d charges", name, d.Verdicts, b.store.Count(fakestore.Charge))
		}
	}
}

// TestUnreadableShadow: a shadow rule whose override cannot be read is not
// charged if its on_error denies, and is charged by its own limits otherwise.
func TestUnreadableShadow(t *testing.T) {
	for onError, charges := range map[string]int{"allow": 2, "deny": 1} {
		b := &fixture{store: fakestore.New(nil), recorder: &recorder{}}
		b.engine = engine.New(engine.Options{
			Rules: engine.Fixed{Set: parse(t, `rules:
  - {name: real, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: shadow, mode: shadow, key: all, overrides: true, on_error: `+onError+`, limits: [{capacity: 9, window: 60s}]}
`)}, Overrides: &operators{err: errDown}, Store: b.store, Local: memory.New(0), Observer: b.recorder,
		})
		if d := b.decide(t, "/"); !d.Allowed || d.Degraded || len(d.Shadows) != 1 || d.Shadows[0].Uncounted != (charges == 1) || b.store.Count(fakestore.Charge) != charges {
			t.Errorf("on_error: %s: %+v, shadows %+v, %d charges", onError, d, d.Shadows, b.store.Count(fakestore.Charge))
		}
	}
}

// TestDecisionOf: what a caller does with its verdict afterwards changes no
// decision that was made of it.
func TestDecisionOf(t *testing.T) {
	set := parse(t, `rules: [{name: r, key: all, limits: [{capacity: 9, window: 60s}]}]`)
	b := newFixture(t, `rules: [{name: r, key: all, limits: [{capacity: 9, window: 60s}]}]`)
	v := engine.Verdict{Resolution: (&engine.Resolver{Set: set, Now: epoch}).Resolve(t.Context(), set.Rules[0], &request.Request{IP: netip.MustParseAddr("203.0.113.9")}, "")}
	var decisions []*engine.Decision
	for range 3 {
		v.Renew()
		if err := b.engine.ChargeRule(t.Context(), epoch, set, &v); err != nil {
			t.Fatal(err)
		}
		decisions = append(decisions, engine.DecisionOf(set, v))
	}
	for i, d := range decisions {
		if got, want := d.Verdicts[0].Limits[0].Remaining, int64(8-i); got != want || d.Verdicts[0].Remaining != want {
			t.Errorf("decision %d has %d left of the limit, and %d of the rule; want %d", i, got, d.Verdicts[0].Remaining, want)
		}
	}
}

// TestRenew: a verdict that is used again says nothing of the call before.
func TestRenew(t *testing.T) {
	set := parse(t, `rules: [{name: r, key: all, on_error: allow, limits: [{capacity: 2, window: 60s}]}]`)
	b := newFixture(t, `rules: [{name: r, key: all, limits: [{capacity: 2, window: 60s}]}]`)
	v := engine.Verdict{Resolution: (&engine.Resolver{Set: set, Now: epoch}).Resolve(t.Context(), set.Rules[0], &request.Request{}, "")}
	for i, down := range []bool{true, false, false, false, true} {
		b.store.Hook = nil
		if down {
			b.store.Hook = fakestore.Down(errDown, "r")
		}
		v.Renew()
		if err := b.engine.ChargeRule(t.Context(), epoch, set, &v); err != nil {
			t.Fatal(err)
		}
		if v.Degraded != down || v.Uncounted != down || v.Allowed != (i != 3) {
			t.Errorf("call %d: allowed %t, degraded %t, uncounted %t", i, v.Allowed, v.Degraded, v.Uncounted)
		}
		b.store.Hook = nil
		if i < 3 {
			continue
		}
		if err := b.engine.SettleRule(t.Context(), epoch, &v, []int64{0}); err != nil { // it charged nothing
			t.Fatal(err)
		}
		if b.store.Count(fakestore.Settle) > 0 {
			t.Fatalf("call %d: the store was asked to correct it", i)
		}
	}
}
