package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/test/fakestore"
)

// TestShadow: a shadow rule beside a rule in force is charged for allowed
// requests only, and changes no decision.
func TestShadow(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: strict, mode: shadow, key: all, limits: [{capacity: 2, window: 60s}]}
  - {name: real, key: all, limits: [{capacity: 3, window: 60s}]}
  - {name: gone, mode: "off", key: all, limits: [{capacity: 1, window: 60s}]}`)
	for i, want := range []struct{ allowed, shadow bool }{{true, true}, {true, true}, {true, false}, {false, false}} {
		d := b.decide(t, "/")
		if d.Allowed != want.allowed || len(d.Verdicts) != 1 || d.Verdicts[0].Rule.Name != "real" {
			t.Fatalf("request %d: %+v", i, d)
		}
		if !d.Allowed {
			if len(d.Shadows) != 0 {
				t.Errorf("request %d was denied, and shadow rules were charged: %+v", i, d.Shadows)
			}
			continue
		}
		if len(d.Shadows) != 1 || d.Shadows[0].Rule.Name != "strict" || d.Shadows[0].Allowed != want.shadow {
			t.Errorf("request %d: %+v", i, d.Shadows)
		}
	}
	if b.store.Count(fakestore.Charge) != 3+3 { // the fourth request is denied by the local snapshot
		t.Errorf("%d charges", b.store.Count(fakestore.Charge))
	}
}

// TestShadowAlone: if only a shadow rule covers the request, the document's
// unmatched decides, as without the shadow rule.
func TestShadowAlone(t *testing.T) {
	for policy, want := range map[string]bool{"allow": true, "deny": false} {
		b := newFixture(t, `
unmatched: `+policy+`
rules: [{name: strict, mode: shadow, key: all, limits: [{capacity: 1, window: 60s}]}]`)
		for i := range 2 {
			d := b.decide(t, "/")
			if d.Allowed != want || d.Reason != engine.Unmatched || len(d.Verdicts) > 0 {
				t.Errorf("unmatched: %s: %+v", policy, d)
			}
			if want && (len(d.Shadows) != 1 || d.Shadows[0].Allowed != (i == 0)) || !want && len(d.Shadows) > 0 {
				t.Errorf("unmatched: %s, request %d: shadows %+v", policy, i, d.Shadows)
			}
		}
	}
}

// TestShadowFails: if the store fails for a shadow rule alone, the failure is
// recorded, and nothing else changes.
func TestShadowFails(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: real, key: all, limits: [{capacity: 3, window: 60s}]}
  - {name: strict, mode: shadow, on_error: deny, key: all, limits: [{capacity: 2, window: 60s}]}`)
	b.store.Hook = fakestore.Down(errDown, "strict")
	d := b.decide(t, "/")
	if v := &d.Shadows[0]; !d.Allowed || d.Degraded || !v.Degraded || !v.Uncounted || !v.Allowed {
		t.Errorf("%+v", d)
	}
	if got := b.recorder.failures; len(got) != 1 || got[0] != (failure{"charge shadow rule", "strict", "all"}) {
		t.Errorf("recorded %v", got)
	}
}

// TestCandidate evaluates a lower and a higher capacity by the verdicts of the
// one in force.
func TestCandidate(t *testing.T) {
	const none, same, deny, allow = engine.NoCandidate, engine.Same, engine.WouldDeny, engine.WouldAllow
	for candidate, want := range map[string][]engine.CandidateOutcome{
		"candidate: 2,":    {same, same, deny, deny, same, same, same},
		"candidate: 5,":    {same, same, same, same, allow, allow, allow},
		"candidate: 100%,": {same, same, same, same, same, same, same},
		"":                 {none, none, none, none, none, none, none},
	} {
		b := newFixture(t, `rules: [{name: r, key: all, limits: [{`+candidate+`capacity: 4, window: 60s}]}]`)
		for i, want := range want {
			d := b.decide(t, "/")
			if got := d.Verdicts[0].CandidateOutcome(0); got != want || d.Allowed != (i < 4) {
				t.Errorf("%s request %d: allowed %v, candidate %v, want %v", candidate, i, d.Allowed, got, want)
			}
		}
		if b.store.Count(fakestore.Charge) != 7 {
			t.Errorf("%s %d charges for 7 requests: a candidate charges nothing", candidate, b.store.Count(fakestore.Charge))
		}
	}
}

// TestShadowResults: candidates and shadow rules have their results, under the
// names by which operators know them. A request that several of them would deny is one.
func TestShadowResults(t *testing.T) {
	b := newFixture(t, `
rules:
- {name: api, key: all, limits: [{name: minute, capacity: 3, window: 60s, candidate: 1}, {name: day, capacity: 9, window: 1d, candidate: 2}]}
- {name: next, mode: shadow, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: plain, key: all, limits: [{capacity: 9, window: 60s}]}
`)
	for i, want := range []string{
		"false api.day candidate 1, api.minute candidate 1, next 1",
		"true api.day candidate 1, api.minute candidate 2, next 2",
		"true api.day candidate 2, api.minute candidate 2, next 2",
		"false api.day candidate 1, api.minute candidate 1", // denied by api, whatever the candidate of its other limit
	} {
		d := b.decide(t, "/")
		var results []string
		for r := range d.ShadowResults() {
			results = append(results, fmt.Sprint(r.Name(), " ", r.Outcome)) // 1 is Same, 2 is WouldDeny
		}
		if got := fmt.Sprint(d.WouldDeny(), " ", strings.Join(results, ", ")); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
}

// TestNoCandidateDuringAnOutage: the local share of a capacity does not show
// what a candidate capacity would have decided.
func TestNoCandidateDuringAnOutage(t *testing.T) {
	b := newFixture(t, `rules: [{name: r, key: all, limits: [{capacity: 100, window: 60s, candidate: 80%}]}]`)
	b.store.Hook = fakestore.Down(errDown, "r")
	if d := b.decide(t, "/"); !d.Allowed || !d.Degraded || d.Verdicts[0].CandidateOutcome(0) != engine.NoCandidate {
		t.Errorf("%+v: candidate %v", d, d.Verdicts[0].CandidateOutcome(0))
	}
}

// TestNoCandidateOfABan: if an override denies the key of a rule with a
// candidate, nothing is counted, so the candidate has no outcome.
func TestNoCandidateOfABan(t *testing.T) {
	b := newFixture(t, `
rules: [{name: r, key: "stage:{stage}", overrides: true, limits: [{capacity: 4, window: 60s, candidate: 2}]}]
overrides: {r: {"stage:prod": {deny: true}}}`)
	d := b.decide(t, "/")
	if d.Allowed || d.Reason != engine.Banned || d.Verdicts[0].CandidateOutcome(0) != engine.NoCandidate {
		t.Errorf("%+v", d)
	}
	b.engine.Finish(context.Background(), epoch, d, &engine.Outcome{Status: 500})
}

// TestFinish refunds by status, and settles to the true cost. Only an answer that
// broke off costs the maximum, not one whose backend reports no cost.
func TestFinish(t *testing.T) {
	const document = `
rules:
  - {name: refunded, key: all, limits: [{capacity: 10, window: 60s}], refund_on: [5xx, 404]}
  - name: chat
    key: all
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 1000, window: 60s, cost: {from: header.x-tokens, min: 100, max: 500, settle: true}}`
	for name, test := range map[string]struct {
		outcome                    engine.Outcome
		refunded, requests, tokens int64 // left afterwards, of 10, 10 and 1,000
	}{
		"fine":                          {engine.Outcome{Status: 200}, 9, 9, 900},
		"failed":                        {engine.Outcome{Status: 503}, 10, 9, 900},
		"cost less":                     {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.tokens": 20}}, 9, 9, 980},
		"cost more than the maximum":    {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.tokens": 900}}, 9, 9, 100},
		"cost more than is left":        {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.tokens": 1500}}, 9, 9, 0},
		"cost what was stated":          {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.tokens": 100}}, 9, 9, 900},
		"another limit does not settle": {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.requests": 0, "refunded": 0}}, 9, 9, 900},
		"aborted, the cost unknown":     {engine.Outcome{Status: 200, Aborted: true}, 9, 9, 500},
		"aborted, with a cost":          {engine.Outcome{Status: 200, Aborted: true, Costs: map[string]int64{"chat.tokens": 20}}, 9, 9, 980},
		"a negative cost is none":       {engine.Outcome{Status: 200, Costs: map[string]int64{"chat.tokens": -1}}, 9, 9, 900},
	} {
		b := newFixture(t, document)
		d, err := b.engine.Decide(t.Context(), epoch, &request.Request{Headers: map[string][]string{"x-tokens": {"100"}}})
		if err != nil || !d.Allowed {
			t.Fatalf("%+v, error %v", d, err)
		}
		b.engine.Finish(context.Background(), epoch.Add(time.Second), d, &test.outcome)
		left := func(i, j int) int64 {
			v := &d.Verdicts[i]
			var now limit.Verdict
			c := &limit.Charge{Key: v.Rule.Item(v.Key, v.Terms), Limits: v.Terms.Limits, Costs: make([]int64, len(v.Terms.Limits))}
			if err := b.store.Peek(t.Context(), epoch.Add(time.Second), c, &now); err != nil {
				t.Fatal(err)
			}
			return now.Limits[j].Remaining
		}
		if got, want := [3]int64{left(0, 0), left(1, 0), left(1, 1)}, [3]int64{test.refunded, test.requests, test.tokens}; got != want {
			t.Errorf("%s: %v are left, want %v", name, got, want)
		}
		if len(b.recorder.failures) > 0 {
			t.Errorf("%s: recorded %v", name, b.recorder.failures)
		}
	}
}

// TestQuiet: a rule with headers: off is charged, but answers do not report it.
func TestQuiet(t *testing.T) {
	b := newFixture(t, `
rules:
  - {name: hidden, headers: "off", key: all, limits: [{capacity: 2, window: 60s}]}
  - {name: shown, key: all, limits: [{capacity: 9, window: 60s}]}`)
	for i := range 3 {
		d := b.decide(t, "/")
		v, _ := d.Tightest()
		switch {
		case i < 2 && (v == nil || v.Rule.Name != "shown"):
			t.Errorf("request %d: answers report %+v", i, v)
		case i == 2 && (v != nil || d.Allowed):
			t.Errorf("denied by a rule that answers do not report: %+v", d)
		}
	}
}
