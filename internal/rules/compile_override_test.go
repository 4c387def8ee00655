package rules

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

func TestCompileOverride(t *testing.T) {
	limits := func(limits ...limit.Limit) []limit.Limit { return limits }
	second := limit.Limit{Capacity: 5, Window: time.Second, Granularity: 100 * time.Millisecond}
	for _, tt := range []struct {
		document string
		want     Override
	}{
		{"capacity: 20000", Override{Capacity: map[string]int64{"": 20000}}},
		{"{capacity: {tokens: 200000, requests: 5}}", Override{Capacity: map[string]int64{"tokens": 200000, "requests": 5}}},
		{`{"capacity": 7, "why": "ticket 81"}`, Override{Capacity: map[string]int64{"": 7}, Why: "ticket 81"}},
		{"unlimited: true", Override{Unlimited: true}},
		{"deny: true\nwhy: ticket 81 # since Monday\n", Override{Deny: true, Why: "ticket 81"}},
		{"{plan: pro, until: 2026-12-31T00:00:00Z}", Override{Plan: "pro", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)}},
		{"{deny: true, until: '2026-12-31T01:00:00.5+01:00'}", Override{Deny: true, Until: time.Date(2026, 12, 31, 0, 0, 0, 5e8, time.UTC)}},
		{"limits: [{capacity: 5, window: 1s}]", Override{Limits: limits(second), Costs: []Cost{{Min: 1, Max: 1, inherited: true}}, suffix: suffix(limits(second))}},
		{"limits: [{capacity: 5, window: 1s, cost: 3, over: clamp}]",
			Override{Limits: limits(second), Costs: []Cost{{Min: 3, Max: 3, Clamp: true}}, suffix: suffix(limits(second))}},
		{"limits: [{capacity: 5, window: 1s, cost: {from: jwt.n, max: 9}}]",
			Override{Limits: limits(second), Costs: []Cost{{from: key.Part{Kind: key.FromClaim, Text: "n"}, Max: 9}}, suffix: suffix(limits(second))}},
	} {
		got, err := parseOverride("o", []byte(tt.document))
		if err != nil {
			t.Errorf("%s: %v", tt.document, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, got, inside, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.document, diff)
		}
	}
}

func TestCompileNoOverride(t *testing.T) {
	if o, problems := CompileOverride(nil); o != nil || len(problems) != 1 || problems[0].Reason() != "says nothing: write capacity, limits, unlimited, plan or deny" {
		t.Errorf("got %+v and %v", o, problems)
	}
	const want = `o:1:1: the document is empty: write fields such as "capacity:"`
	if _, err := parseOverride("o", nil); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A document can be published with any time that Compile takes.
func TestEndOfOverrides(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for until, good := range map[time.Time]bool{last: true, last.Add(time.Second): false, last.In(time.FixedZone("", 3600)): true} {
		d := &ruledoc.Document{Rules: []ruledoc.Rule{perIP()}, Overrides: map[string]map[string]ruledoc.Override{
			"per-ip": {"ip:203.0.113.9": {Deny: true, Until: until}},
		}}
		s, problems := Compile(d)
		if (len(problems) == 0) != good {
			t.Errorf("until %v: %v", until, problems)
			continue
		}
		if good {
			if _, err := ruledoc.Marshal(s.Document()); err != nil {
				t.Errorf("until %v: %v", until, err)
			}
		}
	}
}

// kinds is a set with rules that differ in what their overrides may say.
const kinds = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans:
  pro: {api: 6000, partner: 200}
  free: {api: 10, open: unlimited}
rules:
  - {name: api, key: "user:{jwt.sub}", overrides: true, limits: [{capacity: 100, window: 60s}]}
  - {name: chat, key: "user:{jwt.sub}", overrides: true, cost: 5, limits: [{name: requests, capacity: 10, window: 60s}, {name: tokens, capacity: 4000, window: 60s}]}
  - {name: bucket, key: all, overrides: true, limits: [{algorithm: token_bucket, capacity: 10, window: 30d, burst: 200}]}
  - {name: fast, key: all, overrides: true, limits: [{algorithm: token_bucket, capacity: 10, window: 1s}]}
  - {name: journal, key: all, overrides: true, limits: [{algorithm: sliding_window_log, capacity: 10, window: 60s}]}
  - {name: refunding, key: all, overrides: true, refund_on: 5xx, limits: [{capacity: 100, window: 60s}]}
  - {name: settling, key: all, overrides: true, cost: {from: header.x, min: 2, max: 50, settle: true}, limits: [{capacity: 100, window: 60s}]}
  - {name: partner, key: "partner:{path.partner}", overrides: true, limits: [{capacity: 100, window: 60s}]}
  - {name: open, key: "partner:{path.partner}", overrides: true, limits: [{capacity: 100, window: 60s}]}
  - {name: verified, key: "partner:{path.partner}", overrides: true, trusted: [path.partner], limits: [{capacity: 100, window: 60s}]}
  - {name: plain, key: "ip:{ip}", limits: [{capacity: 100, window: 60s}]}
overrides:
  plain: {"ip:203.0.113.9": {capacity: 7}}
`

func TestCheckGrants(t *testing.T) {
	s := parse(t, kinds)
	for _, tt := range []struct{ rule, key, limit, want string }{
		{"api", "user:1", "", ""},
		{"chat", "user:1", "tokens", ""},
		{"chat", "user:1", "", "grants: rule chat has several limits: write a capacity for each by name, such as {requests: 10}"},
		{"chat", "user:1", "word", `grants: rule chat has no limit "word": there are requests and tokens`},
		{"partner", "partner:acme", "", "grants: may loosen the rule, and the client sets {path.partner} of its key: write deny or a lower capacity, " +
			"or, if the backend verifies it, trusted: [path.partner] in the rule"},
		{"verified", "partner:acme", "", ""},
		{PlanOverrides, "user:1", "", "grants: is for the keys of one rule: write plan or deny among the overrides of plan"},
	} {
		got := ""
		if err := s.CheckOverride(tt.rule, tt.key, &Override{Grants: []Grant{{Limit: tt.limit, Add: 5}}}); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s of %s, limit %q:\ngot  %s\nwant %s", tt.key, tt.rule, tt.limit, got, tt.want)
		}
	}
}

// A grant applies to the limits of the override, if it has any.
func TestGrantsOnOverriddenLimits(t *testing.T) {
	s := parse(t, kinds)
	o, err := parseOverride("o", []byte("limits: [{name: a, capacity: 1, window: 1s}, {name: b, capacity: 1, window: 1h}]"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	o.Grants = []Grant{{Limit: "b", Add: 4, Until: now.Add(1)}}
	if err := s.CheckOverride("api", "user:1", o); err != nil {
		t.Error(err)
	}
	api, _ := s.Rule("api")
	terms := api.Terms(&request.Request{}, "", o, now)
	if got := describeTerms(terms); terms.Stale || got != "a 1/1s cost 1, b 5/1h0m0s cost 1" {
		t.Errorf("stale %t: %s", terms.Stale, got)
	}
	o.Grants[0].Limit = "c"
	if err := s.CheckOverride("api", "user:1", o); err == nil || err.Error() != `grants: rule api has no limit "c": there are a and b` {
		t.Errorf("got %v", err)
	}
	only := parse(t, "rules: [{name: r, key: k, overrides: true, limits: [{name: hour, capacity: 1, window: 1h}]}]")
	o = &Override{Grants: []Grant{{Add: 4, Until: now.Add(1)}}}
	terms = only.Rules[0].Terms(&request.Request{}, "", o, now)
	if err := only.CheckOverride("r", "k", o); err != nil || terms.Stale || terms.Limits[0].Capacity != 5 {
		t.Errorf("%v, stale %t, %s", err, terms.Stale, describeTerms(terms))
	}
}

// An override that CheckOverride accepts never becomes stale by itself, and every
// override that compiles gives limits that stores accept.
func FuzzCompileOverride(f *testing.F) {
	f.Add("capacity: 20000", uint8(0))
	f.Add("{capacity: {tokens: 200000}, until: 2026-12-31T00:00:00Z, why: x}", uint8(1))
	f.Add("limits: [{name: a, capacity: 1, window: 1mo, anchor: 3}, {name: b, algorithm: token_bucket, capacity: 9, window: 1s, cost: {from: jwt.n, max: 7}}]", uint8(4))
	f.Add("{unlimited: true, why: 'because'}", uint8(7))
	f.Add("{plan: pro}", uint8(2))
	s, err := read(f, "f", kinds)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, document string, n uint8) {
		o, err := parseOverride("o", []byte(document))
		if err != nil {
			errs, ok := errors.AsType[yamlfile.Errors](err)
			if !ok {
				t.Fatalf("error %T", err)
			}
			for _, e := range errs {
				if e.File != "o" || e.Line < 1 || e.Column < 1 || e.Reason == "" || strings.ContainsAny(e.Error(), "\n\r\x1b") {
					t.Errorf("error %#v", e)
				}
			}
			return
		}
		r := s.Rules[int(n)%len(s.Rules)]
		key, _ := r.AppendOverrideKey(nil, &request.Request{})
		fits := s.CheckOverride(r.Name, string(key), o) == nil
		for _, plan := range append(s.plans, "") {
			terms := r.Terms(&request.Request{}, plan, o, time.Time{})
			if fits && terms.Stale {
				t.Errorf("%s passes the check of rule %s and is stale: %+v", document, r.Name, terms)
			}
			if err := (&limit.Charge{Key: "k", Limits: terms.Limits, Costs: terms.Costs}).Check(); err != nil && !terms.Denied && !terms.Unlimited {
				t.Errorf("%s of rule %s: %v", document, r.Name, err)
			}
		}
	})
}

// An empty map of overrides says as much as none: the normal form, which has no
// such map, is about the same keys.
func TestNoOverridesInAMap(t *testing.T) {
	for _, overrides := range []string{"", ", overrides: false"} {
		s, err := read(t, "f", "{rules: [{name: api, key: 'ip:{ip}', limits: [{capacity: 1, window: 1s}]"+overrides+"}], overrides: {api: {}}}")
		if err != nil {
			t.Fatal(err)
		}
		again, problems := Compile(s.Document())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if s.OverrideKeys("api") != "" || again.OverrideKeys("api") != "" || s.OverridesHashed("api") != again.OverridesHashed("api") {
			t.Errorf("overrides are found by %q, and in the normal form by %q", s.OverrideKeys("api"), again.OverrideKeys("api"))
		}
	}
}
