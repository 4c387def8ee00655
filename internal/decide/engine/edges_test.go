package engine_test

import (
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestAtomicRefused: if the store refuses atomic rules, they are not charged
// apart: on_error decides for each.
func TestAtomicRefused(t *testing.T) {
	b, g := newBatcherFixture(t, `rules:
  - {name: one, key: all, atomic: true, on_error: allow, limits: [{capacity: 9, window: 60s}]}
  - {name: two, key: all, atomic: true, on_error: allow, limits: [{capacity: 9, window: 60s}]}`)
	g.apart, g.Hook = true, fakestore.Fail(limit.ErrGroup)
	if d := b.decide(t, "/"); !d.Allowed || !d.Degraded || b.store.Count(fakestore.Charge) != 1 {
		t.Errorf("%+v after %d charges, want one", d, b.store.Count(fakestore.Charge))
	}
}

// TestAtomicDenialsInAnyOrder: the longest wait counts also if it comes first.
func TestAtomicDenialsInAnyOrder(t *testing.T) {
	b := newFixture(t, `rules:
  - {name: long, key: all, atomic: true, limits: [{capacity: 1, window: 120s}]}
  - {name: short, key: all, atomic: true, limits: [{capacity: 1, window: 60s}]}`)
	b.store.NoSnapshot = true
	b.decide(t, "/")
	if d := b.decide(t, "/"); d.Allowed || names(d) != "long" {
		t.Errorf("denied by %s", names(d))
	}
}

// TestNoCounterDecides: where on_error or an override decides, a full counter
// denies nothing.
func TestNoCounterDecides(t *testing.T) {
	set := parse(t, `rules:
  - {name: other, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: full, key: all, overrides: true, on_error: allow, limits: [{capacity: 1, window: 60s}]}`)
	o := &operators{overrides: map[string]*rules.Override{}}
	e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Overrides: o, Store: memory.New(0), Local: memory.New(0)})
	for name, test := range map[string]struct {
		override *rules.Override
		err      error
		allowed  bool
	}{
		"the counter":                         {nil, nil, false},
		"an override":                         {&rules.Override{Unlimited: true}, nil, true},
		"the counter without known overrides": {nil, errDown, false},
	} {
		o.overrides["full all"], o.err = nil, nil
		if _, err := e.Decide(t.Context(), epoch, &request.Request{}); err != nil {
			t.Fatal(err)
		}
		o.overrides["full all"], o.err = test.override, test.err
		if d, err := e.Decide(t.Context(), epoch, &request.Request{}); err != nil || d.Allowed != test.allowed {
			t.Errorf("%s decides: %+v, error %v", name, d, err)
		}
	}
}

// TestBannedShadow: a shadow rule whose override denies is not charged.
func TestBannedShadow(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: real, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: strict, mode: shadow, key: "stage:{stage}", limits: [{capacity: 9, window: 60s}]}
overrides: {strict: {"stage:prod": {deny: true}}}`)
	if d := b.decide(t, "/"); !d.Allowed || len(d.Shadows) != 1 || d.Shadows[0].Allowed || b.store.Count(fakestore.Charge) != 1 {
		t.Errorf("%+v after %d charges", d, b.store.Count(fakestore.Charge))
	}
}

// TestCandidateOfZeroCost: a request that costs nothing passes any capacity.
func TestCandidateOfZeroCost(t *testing.T) {
	b := newFixture(t, `rules: [{name: r, key: all, limits: [
		{name: requests, capacity: 9, window: 60s, candidate: 8},
		{name: tokens, capacity: 9, window: 60s, candidate: 2, cost: {from: jwt.n, min: 0, max: 9}}]}]`)
	for i, want := range []engine.CandidateOutcome{engine.WouldDeny, engine.Same} {
		req := &request.Request{Claims: map[string]any{"n": float64(3 - 3*i)}}
		if d, err := b.engine.Decide(t.Context(), epoch, req); err != nil || d.Verdicts[0].CandidateOutcome(1) != want {
			t.Errorf("request %d: %+v, error %v", i, d, err)
		}
	}
}

// TestOverrideByAnotherKey: a rule may look its overrides up by another key than
// it counts by.
func TestOverrideByAnotherKey(t *testing.T) {
	set := parse(t, `
rules: [{name: r, key: "user:{jwt.sub}:{jwt.device}", overrides: "user:{jwt.sub}", limits: [{capacity: 1, window: 60s}]}]
overrides: {r: {"user:7": {capacity: 5}}}`)
	r := engine.Resolver{Set: set, Now: epoch}
	res := r.Resolve(t.Context(), set.Rules[0], &request.Request{Claims: map[string]any{"sub": "7", "device": "phone"}}, "")
	if res.Charge.Limits[0].Capacity != 5 {
		t.Errorf("%+v", res)
	}
}
