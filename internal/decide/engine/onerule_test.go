package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// oneRule returns a document's rule, resolved for a first charge.
func oneRule(t *testing.T, document string) (*rules.Set, *engine.Verdict) {
	t.Helper()
	set := parse(t, document)
	r := engine.Resolver{Set: set, Now: epoch}
	return set, &engine.Verdict{Resolution: r.Resolve(t.Context(), set.Rules[0], &request.Request{}, "")}
}

// TestAdmitted: the engine names the counter of each charge that the store
// made, and of no denied one.
func TestAdmitted(t *testing.T) {
	for _, kind := range []string{"", "atomic: true, "} {
		var admitted []string
		set, store := parse(t, `rules:
  - {name: first, `+kind+`key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: second, `+kind+`key: all, limits: [{capacity: 1, window: 60s}]}`), fakestore.New(nil)
		store.NoSnapshot = true
		e := engine.New(engine.Options{
			Rules: engine.Fixed{Set: set}, Store: store, Local: memory.New(0),
			Admitted: func(key string) { admitted = append(admitted, key) },
		})
		want := []string{itemOf(set.Rules[0]), itemOf(set.Rules[1])}
		if kind == "" {
			want = append(want, want[0]) // charged, and refunded
		}
		for range 2 {
			if _, err := e.Decide(t.Context(), epoch, &request.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(admitted, want) || store.Count(fakestore.Settle) != len(want)-2 {
			t.Errorf("%sadmitted %q, want %q; %d refunds", kind, admitted, want, store.Count(fakestore.Settle))
		}
	}
}

// TestDecisionOfOneRule: the decision has the rule's verdict and nothing else.
func TestDecisionOfOneRule(t *testing.T) {
	b := newFixture(t, "rules: []")
	set, v := oneRule(t, `rules: [{name: r, key: all, refund_on: [503], limits: [{capacity: 1, window: 60s}]}]`)
	for i, down := range []bool{true, false, false} {
		if b.store.Hook = nil; down {
			b.store.Hook = fakestore.Down(errDown, "r")
		}
		v.Renew()
		if err := b.engine.ChargeRule(t.Context(), epoch, set, v); err != nil {
			t.Fatal(err)
		}
		d := engine.DecisionOf(set, *v)
		if d.Allowed != (i < 2) || len(d.Verdicts) != 1 || d.Degraded != down {
			t.Errorf("decision %d: %+v", i, d)
		}
		if pending := len(d.Pending()); (pending == 1) != (i == 1) {
			t.Errorf("decision %d: an outcome may correct %d charges", i, pending)
		}
	}
}

// TestCorrectionsFail: each way to correct a charge passes the store's failure
// on. Nothing is sent to the store if there is nothing to correct.
func TestCorrectionsFail(t *testing.T) {
	set := parse(t, corrected)
	store, log := fakestore.New(fakestore.On(fakestore.Settle, fakestore.Fail(errDown))), &recorder{}
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: memory.New(0), Observer: log})
	d, err := e.Decide(t.Context(), epoch, &request.Request{})
	if err != nil {
		t.Fatal(err)
	}
	settle := func(actual int64) error { return e.SettleRule(t.Context(), epoch, &d.Verdicts[0], []int64{actual}) }
	finish := func(status int) { e.Finish(t.Context(), epoch, d, &engine.Outcome{Status: status}) }
	if finish(200); settle(1) != nil || store.Count(fakestore.Settle) != 0 {
		t.Errorf("%d corrections of right charges", store.Count(fakestore.Settle))
	}
	if err := settle(2); !errors.Is(err, errDown) {
		t.Errorf("a rule: %v", err)
	}
	if err := d.Pending()[0].Settle(t.Context(), epoch, store, engine.NoObserver{}, &engine.Outcome{Status: 503}); !errors.Is(err, errDown) {
		t.Errorf("a pending charge: %v", err)
	}
	d.Verdicts = d.Verdicts[:2]
	finish(503)
	if want := []failure{{"settle", "once", "all"}, {"settle", "trial", "all"}}; !slices.Equal(log.failures, want) {
		t.Errorf("recorded %v, want %v", log.failures, want)
	}
	for _, c := range store.Calls(fakestore.Settle)[2:] { // those of Finish
		if c.Ctx.Err() == nil {
			t.Error("the context of a correction outlives it")
		}
	}
}

// TestDeniedIsNotCorrected: a denied charge took nothing, so nothing is sent to
// correct it: neither to the local store, nor for a shadow rule.
func TestDeniedIsNotCorrected(t *testing.T) {
	set := parse(t, `
defaults: {instances: 1}
rules:
  - {name: local, key: all, limits: [{capacity: 2, window: 60s}], refund_on: [503]}
  - {name: trial, mode: shadow, key: all, limits: [{capacity: 1, window: 60s}], refund_on: [503]}`)
	store, local := fakestore.New(fakestore.Down(errDown, "local")), fakestore.New(nil)
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Store: store, Local: local})
	for i := range 3 {
		d, err := e.Decide(t.Context(), epoch, &request.Request{})
		if err != nil || d.Allowed != (i < 2) {
			t.Fatalf("request %d: %+v, error %v", i, d, err)
		}
		if d.Verdicts = nil; i == 1 { // only the shadow rule denies
			e.Finish(t.Context(), epoch, d, &engine.Outcome{Status: 503})
		}
	}
	if store.Count(fakestore.Settle) != 0 || local.Count(fakestore.Settle) != 0 {
		t.Errorf("%d corrections of the shadow rule, %d of the local one", store.Count(fakestore.Settle), local.Count(fakestore.Settle))
	}
}

// TestLeastSettlement: a limit whose requests cost one unit at most settles.
func TestLeastSettlement(t *testing.T) {
	b := newFixture(t, `rules: [{name: r, key: all, cost: {from: header.x-n, min: 1, max: 1, settle: true}, limits: [{capacity: 9, window: 60s}]}]`)
	d := b.decide(t, "/")
	b.engine.Finish(t.Context(), epoch, d, &engine.Outcome{Status: 200, Costs: map[string]int64{"r": 0}})
	if left := b.left(t, d, "r"); left != 9 {
		t.Errorf("%d of 9 are left", left)
	}
}
