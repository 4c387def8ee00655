package engine_test

import (
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
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

// TestDecisionOfOneRule: the decision has the rule's verdict and nothing else. What
// a caller does with its verdict afterwards changes no decision that was made of it.
func TestDecisionOfOneRule(t *testing.T) {
	b := newFixture(t, "rules: []")
	set, v := oneRule(t, `rules: [{name: r, key: all, refund_on: [503], limits: [{capacity: 2, window: 60s}]}]`)
	var decisions []*engine.Decision
	for i, down := range []bool{true, false, false, false} {
		if b.store.Hook = nil; down {
			b.store.Hook = fakestore.Down(errDown, "r")
		}
		v.Renew()
		v.Charge.Limits = set.Rules[0].Limits // not the local share
		if err := b.engine.ChargeRule(t.Context(), epoch, set, v); err != nil {
			t.Fatal(err)
		}
		d := engine.DecisionOf(set, *v)
		if d.Allowed != (i < 3) || len(d.Verdicts) != 1 || d.Degraded != down {
			t.Errorf("decision %d: %+v", i, d)
		}
		if pending := len(d.Pending()); (pending == 1) != (i == 1 || i == 2) {
			t.Errorf("decision %d: an outcome may correct %d charges", i, pending)
		}
		decisions = append(decisions, d)
	}
	if v := decisions[1].Verdicts[0]; v.Limits[0].Remaining != 1 || v.Remaining != 1 {
		t.Errorf("the first shared decision has %d left of the limit, and %d of the rule; want 1", v.Limits[0].Remaining, v.Remaining)
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

const corrected = `
rules:
  - {name: plain, key: all, limits: [{capacity: 9, window: 60s}]}
  - {name: once, key: all, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - {name: bucket, key: all, limits: [{capacity: 9, window: 60s, algorithm: token_bucket}]}
  - {name: free, key: all, cost: 0, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - name: chat
    key: all
    limits:
      - {name: requests, capacity: 9, window: 60s}
      - {name: tokens, capacity: 900, window: 60s, cost: {from: header.x-tokens, min: 100, max: 300, settle: true}}
  - {name: trial, mode: shadow, key: all, limits: [{capacity: 1, window: 60s}], refund_on: [503]}
`

// TestPending lists the charges that an outcome may correct: those with statuses
// that refund what can be refunded, and those that settle. It settles each as
// another process does, from plain data.
func TestPending(t *testing.T) {
	b := newFixture(t, corrected)
	d := b.decide(t, "/")
	all := d.Pending()
	most := map[string][]int64{}
	for i := range all {
		p := &all[i]
		most[p.Rule] = p.MaxCosts[:len(p.Charge.Costs)]
		if p.Receipt.Generation == "" || p.Receipt.Slots[0] == 0 {
			t.Errorf("the receipt of %s names no charge: %+v", p.Rule, p.Receipt)
		}
		if err := p.Settle(t.Context(), epoch, b.store, b.recorder, &engine.Outcome{Status: 503, Costs: map[string]int64{"chat.tokens": 100}}); err != nil {
			t.Error(err)
		}
	}
	want := map[string][]int64{"once": {engine.Unsettled}, "chat": {engine.Unsettled, 300}, "trial": {engine.Unsettled}}
	if diff := gocmp.Diff(want, most); diff != "" {
		t.Errorf("the most that an answer may cost (-want +got):\n%s", diff)
	}
	if b.store.Count(fakestore.Settle) != 3 {
		t.Errorf("%d corrections, want 3", b.store.Count(fakestore.Settle))
	}
	if got := b.left(t, d, "once"); got != 9 {
		t.Errorf("%d of 9 are left after a refund", got)
	}
	if d.Allowed = false; d.Pending() != nil {
		t.Error("a denied request has charges to correct")
	}
}

// TestPendingHere: no other process can correct what this one counted by itself,
// or what was not counted.
func TestPendingHere(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: local, key: all, limits: [{capacity: 9, window: 60s}], refund_on: [503]}
  - {name: open, key: all, limits: [{capacity: 9, window: 60s}], refund_on: [503], on_error: allow}`)
	b.store.Hook = fakestore.Down(errDown, "local", "open")
	d := b.decide(t, "/")
	if all := d.Pending(); len(d.Verdicts) != 2 || all != nil {
		t.Errorf("pending: %+v", all)
	}
}

// TestSettleRule corrects the limits that can be corrected, and leaves a bucket
// and a rule that was not charged.
func TestSettleRule(t *testing.T) {
	b := newFixture(t, `rules: [{name: r, key: all, limits: [
		{name: b, capacity: 9, window: 60s, algorithm: token_bucket}, {name: w, capacity: 9, window: 60s}]}]`)
	d := b.decide(t, "/")
	v := &d.Verdicts[0]
	if err := b.engine.SettleRule(t.Context(), epoch, v, []int64{5, 4}); err != nil {
		t.Fatal(err)
	}
	var now limit.Verdict
	c := v.Charge
	c.Costs = []int64{0, 0}
	if err := b.store.Peek(t.Context(), epoch, &c, &now); err != nil {
		t.Fatal(err)
	}
	if now.Limits[0].Remaining != 8 || now.Limits[1].Remaining != 5 {
		t.Errorf("%d and %d of 9 are left, want 8 and 5", now.Limits[0].Remaining, now.Limits[1].Remaining)
	}
	v.Renew()
	if err := b.engine.SettleRule(t.Context(), epoch, v, []int64{5, 5}); err != nil || b.store.Count(fakestore.Settle) != 1 {
		t.Errorf("a charge that was not made is settled: %d corrections, error %v", b.store.Count(fakestore.Settle), err)
	}
}

// TestDegraded: a decision says that part of what it needs was not there.
func TestDegraded(t *testing.T) {
	banned := parse(t, "{plan: {from: jwt.plan, overrides: all}, plans: {pro: {r: 2}}, rules: [{name: r, key: all, limits: [{capacity: 1, window: 60s}]}], overrides: {plan: {all: {deny: true, why: ticket 7}}}}")
	decide := func(set *rules.Set, o engine.OverrideSource, r request.Request) bool {
		b := newFixture(t, corrected)
		e := engine.New(engine.Options{Rules: engine.Fixed{Set: set}, Overrides: o, Store: b.store, Local: b.local, Observer: b.recorder})
		d, err := e.Decide(t.Context(), epoch, &r)
		if err != nil {
			t.Fatal(err)
		}
		return d.Degraded
	}
	planned := parse(t, `{plan: {from: jwt.plan, overrides: all}, plans: {pro: {r: 2}}, rules: [{name: r, key: all, limits: [{capacity: 1, window: 60s}]}]}`)
	get := request.Request{Method: "GET", Path: "/"}
	unverified := get
	unverified.Unverified = true
	for name, test := range map[string]struct{ got, want bool }{
		"nothing is missing":          {decide(planned, &operators{}, get), false},
		"no rules are published":      {decide(rules.NewUnpublished(), nil, get), true},
		"credentials are unverified":  {decide(planned, &operators{}, unverified), true},
		"unverified, and banned":      {decide(banned, nil, unverified), true},
		"the plan cannot be read":     {decide(planned, &operators{err: errors.New("no answer")}, get), true},
		"unverified, but not limited": {decide(parse(t, "rules: []"), nil, unverified), true},
	} {
		if test.got != test.want {
			t.Errorf("%s: degraded %t, want %t", name, test.got, test.want)
		}
	}
}
