package rules

import (
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/request"
)

// Overrides and grants change the terms of a rule. What does not fit is ignored and
// reported as stale.
func TestTerms(t *testing.T) {
	s := parse(t, kinds+`
  journal: {all: {capacity: 1000}}
`)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	grant := func(limit string, add int64, lasts time.Duration) Grant {
		return Grant{Limit: limit, Add: add, Until: now.Add(lasts)}
	}
	for _, tt := range []struct {
		name, rule, plan string
		o                Override
		stale            bool
		want             string
	}{
		{"no override", "api", "", Override{}, false, "100/1m0s cost 1"},
		{"a grant", "api", "", Override{Grants: []Grant{grant("", 50, 1)}}, false, "150/1m0s cost 1"},
		{"two grants", "api", "", Override{Grants: []Grant{grant("", 50, 1), grant("", 7, time.Hour)}}, false, "157/1m0s cost 1"},
		{"a grant that has ended", "api", "", Override{Grants: []Grant{grant("", 50, 0)}}, false, "100/1m0s cost 1"},
		{"on top of a plan", "api", "pro", Override{Grants: []Grant{grant("", 50, 1)}}, false, "6050/1m0s cost 1"},
		{"on top of a capacity", "api", "", Override{Capacity: map[string]int64{"": 7}, Grants: []Grant{grant("", 50, 1)}}, false, "57/1m0s cost 1"},
		{"up to what can be counted", "api", "", Override{Grants: []Grant{grant("", 1<<40, 1)}}, false, "4294967295/1m0s cost 1"},
		{"more than a log keeps", "journal", "", Override{Grants: []Grant{grant("", 999, 1)}}, true, "10/1m0s cost 1"},
		{"to a limit that is gone", "chat", "", Override{Grants: []Grant{grant("words", 9, 1)}}, true, "requests 10/1m0s cost 5, tokens 4000/1m0s cost 5"},
		{"a capacity of a limit that is gone", "chat", "", Override{Capacity: map[string]int64{"words": 9, "tokens": 8}}, true,
			"requests 10/1m0s cost 5, tokens 8/1m0s cost 5"},
		{"a capacity that is beyond a log", "journal", "", Override{Capacity: map[string]int64{"": 1001}}, true, "10/1m0s cost 1"},
		{"a grant for a client's key", "partner", "", Override{Grants: []Grant{grant("", 9, 1)}}, true, "100/1m0s cost 1"},
		{"a client's key lowers a plan", "partner", "pro", Override{Capacity: map[string]int64{"": 150}}, false, "150/1m0s cost 1"},
		{"ended", "api", "", Override{Capacity: map[string]int64{"": 7}, Until: now}, false, "100/1m0s cost 1"},
		{"not ended", "api", "", Override{Capacity: map[string]int64{"": 7}, Until: now.Add(1)}, false, "7/1m0s cost 1"},
	} {
		r, _ := s.Rule(tt.rule)
		terms := r.Terms(&request.Request{}, tt.plan, &tt.o, now)
		if got := describeTerms(terms); got != tt.want || terms.Stale != tt.stale {
			t.Errorf("%s: %s, stale %t; want %s, %t", tt.name, got, terms.Stale, tt.want, tt.stale)
		}
		if before := own(r); r.Item("k", terms) != r.Item("k", before) {
			t.Errorf("%s: another counter", tt.name)
		}
	}
}

// Once an override's limits have ended, months start again on the request's day.
func TestAnchorAfterOverride(t *testing.T) {
	r := parse(t, "rules: [{name: r, key: k, overrides: true, limits: [{capacity: 9, window: 1mo, anchor: {from: jwt.day}}]}]").Rules[0]
	o, err := parseOverride("o", []byte("{limits: [{capacity: 1, window: 1s}], until: 2026-01-01T00:00:00Z}"))
	if err != nil {
		t.Fatal(err)
	}
	req := user("GET", "/", claimSet{"day": "7"})
	for now, want := range map[time.Time]string{
		o.Until.Add(-1): "1/1s cost 1",
		o.Until:         "9/720h0m0s from day 7 cost 1",
	} {
		terms := r.Terms(req, "", o, now)
		if got := describeTerms(terms); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	s := parse(t, `
plan: {from: jwt.plan}
plans: {pro: {r: {a: 4000000000, b: 50, c: 3}}}
rules:
- name: r
  key: k
  limits:
  - {name: a, capacity: 100, window: 1s, candidate: 150%}
  - {name: b, capacity: 100, window: 1s, candidate: 80}
  - {name: c, capacity: 100, window: 1s, candidate: 1%}
  - {name: d, capacity: 100, window: 1s}`)
	for plan, want := range map[string][4]int64{"": {150, 80, 1, 0}, "pro": {4294967295, 0, 1, 0}} {
		terms := s.Rules[0].Terms(&request.Request{}, plan, nil, time.Time{})
		for i := range want {
			if got, ok := terms.Candidate(i); got != want[i] || ok != (want[i] > 0) {
				t.Errorf("plan %q, limit %d: %d, %t; want %d", plan, i, got, ok, want[i])
			}
		}
	}
	terms := own(s.Rules[0])
	if _, ok := terms.Candidate(7); ok {
		t.Error("an unknown limit has a candidate")
	}
}

func TestResolvePlan(t *testing.T) {
	s := parse(t, threePlans)
	pro := &request.Request{Claims: claimSet{"plan": "pro"}}
	for _, tt := range []struct {
		name    string
		o       *Override
		inForce bool
		plan    string
		denied  bool
		stale   bool
	}{
		{"none", nil, false, "pro", false, false},
		{"another plan", &Override{Plan: "enterprise"}, true, "enterprise", false, false},
		{"a plan that is gone", &Override{Plan: "gold"}, true, "", false, true},
		{"a plan that is gone, ended", &Override{Plan: "gold"}, false, "pro", false, false},
		{"an override without a plan", &Override{Unlimited: true}, true, "pro", false, true},
		{"ended", &Override{Plan: "enterprise"}, false, "pro", false, false},
		{"denied", &Override{Deny: true, Plan: "gold"}, true, "", true, false},
	} {
		if plan, denied, stale := s.ResolvePlan(pro, tt.o, tt.inForce); plan != tt.plan || denied != tt.denied || stale != tt.stale {
			t.Errorf("%s: %q, denied %t, stale %t; want %q, %t, %t", tt.name, plan, denied, stale, tt.plan, tt.denied, tt.stale)
		}
	}
	for _, req := range []*request.Request{{}, {Claims: claimSet{"plan": "gold"}}, {Claims: claimSet{"plan": []any{"pro"}}}, {Rejected: true, Claims: claimSet{"plan": "pro"}}} {
		if plan := s.Plan(req); plan != "" {
			t.Errorf("%+v: plan %q", req, plan)
		}
	}
	without := parse(t, "rules: []")
	if _, ok := without.AppendPlanKey(nil, pro); ok || without.Plan(pro) != "" {
		t.Error("a document without plans has some")
	}
}
