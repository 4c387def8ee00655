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
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/yamlfile"
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

func TestCompileOverrideErrors(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{"", "o:1:1: the document is empty: write fields such as \"capacity:\""},
		{"7", `o:1:1: must be a map with fields such as "capacity:", and is a number`},
		{"{}", "o:1:1: says nothing: write capacity, limits, unlimited, plan or deny"},
		{"why: ticket 81", "o:1:1: says nothing: write capacity, limits, unlimited, plan or deny"},
		{"{capacity: 5, unlimited: true}", "o:1:1: says capacity and unlimited, and an override says one thing: remove all but one"},
		{"{capacity: 5, limits: [{capacity: 5, window: 1s}], plan: pro, deny: true}",
			"o:1:1: says capacity, limits, plan and deny, and an override says one thing: remove all but one"},
		{"capacity: 0", "o:1:11: capacity: 0 is out of range: write a number from 1 to 4294967295"},
		{"capacity: unlimited", "o:1:11: capacity: must be a whole number in plain digits without quotes, such as 10"},
		{"capacity: {}", "o:1:11: capacity: is empty: write entries such as {requests: 60, tokens: 90000}, or remove it"},
		{"capacity: {a: unlimited}", "o:1:15: capacity.a: one limit of a rule cannot be unlimited by itself: write a capacity that no key reaches"},
		{"capacity: {a: 1, a: 2}", "o:1:18: capacity.a: is there twice, first in line 1: remove one of them"},
		{"unlimited: false", "o:1:12: unlimited: says nothing where it is false: write true, or remove it"},
		{"deny: yes", "o:1:7: deny: must be true or false, and is text"},
		{"plan: 7", `o:1:7: plan: must be text, and is a number: write "7"`},
		{"{deny: true, until: tomorrow}", `o:1:21: until: "tomorrow" is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00`},
		{"{deny: true, until: 2026-12-31}", `o:1:21: until: "2026-12-31" is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00`},
		{"{deny: true, until: 1798675200}", `o:1:21: until: must be text, and is a number: write "1798675200"`},
		{"{deny: true, until: 10000-01-01T00:00:00Z}", `o:1:21: until: "10000-01-01T00:00:00Z" is no time: write one such as 2026-12-31T00:00:00Z, or 2026-12-31T00:00:00+01:00`},
		{"{deny: true, until: 9999-12-31T23:59:59-00:01}", "o:1:21: until: is in the year 10000 in UTC: write a time in the years 0 to 9999, or none"},
		{"{deny: true, until: 0000-01-01T00:00:00+00:01}", "o:1:21: until: is in the year -1 in UTC: write a time in the years 0 to 9999, or none"},
		{"{deny: true, why: " + strings.Repeat("a", 501) + "}", "o:1:19: why: has 501 bytes, and 500 is the most: shorten it"},
		{"{deny: true, reason: x}", "o:1:14: reason: unknown field: there are capacity, limits, unlimited, plan, deny, until and why"},
		{"limits: []", "o:1:9: limits: is an empty list: write a value such as 100/minute, or remove it"},
		{"limits: [5/s, {capacity: 5, window: 1s}]",
			`o:1:15: limits[1]: "per-second" is the name of limits[0] too: write a name of its own, such as {name: burst, capacity: 20, window: 1s}`},
		{"limits: [5]", "o:1:10: limits[0]: must be text, such as 100/minute, and is a number"},
		{"limits: [{capacity: 5, window: 1s, candidate: 80%}]",
			"o:1:47: limits[0].candidate: is for limits of rules: remove it"},
		{"limits: [{capacity: 5, window: 1mo, anchor: {from: jwt.day}}]",
			"o:1:45: limits[0].anchor: a claim decides in rules alone: write the day of the month, such as 15"},
		{"limits: [{capacity: 5, window: 1s, cost: 6}]",
			"o:1:42: limits[0].cost: 6 is above the capacity 5 of limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
		{"{unlimited: true", "o:1:1: not YAML: the { in line 1 is never closed: write }"},
	} {
		_, err := parseOverride("o", []byte(tt.document))
		if err == nil {
			t.Errorf("%s: no error", tt.document)
			continue
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.document, diff)
		}
	}
}

func TestCompileNoOverride(t *testing.T) {
	if o, problems := CompileOverride(nil); o != nil || len(problems) != 1 || problems[0].Reason() != "says nothing: write capacity, limits, unlimited, plan or deny" {
		t.Errorf("got %+v and %v", o, problems)
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

// What an override can change depends on its rule. Overrides in a document are
// checked in the same way, and errors have their position.
func TestCheckOverride(t *testing.T) {
	s := parse(t, kinds)
	const partner = "the client sets {path.partner} of its key: write deny or a lower capacity, or, if the backend verifies it, trusted: [path.partner] in the rule"
	for _, tt := range []struct{ rule, key, document, want string }{
		{"api", "user:1", "capacity: 20000", ""},
		{"api", "user:auth0%7C1", "capacity: 1", ""},
		{"api", "user:auth0|1", "capacity: 1", `"user:auth0|1" is not a key of the overrides of rule api as requests make it: write user:auth0%7C1`},
		{"api", "%hmac-00112233445566778899aabbccddeeff", "capacity: 1", // of a time when the rule hashed its keys
			`"%hmac-00112233445566778899aabbccddeeff" is no key of the overrides of rule api, which look like user:{jwt.sub}: "user:" is missing`},
		{"api", "user:1", "unlimited: true", ""},
		{"api", "user:1", "{deny: true, until: 1999-01-01T00:00:00Z}", ""}, // the check does not look at the time
		{"api", "user:1", "limits: [{name: a, capacity: 1, window: 1s}, {name: b, capacity: 1, window: 1h}]", ""},
		{"api", "user:1", "capacity: {requests: 5}", "capacity.requests: rule api has one limit, without a name: write the capacity alone"},
		{"api", "user:1", "plan: pro", "plan: is for all rules together: write it among the overrides of plan"},
		{"api", "account:1", "capacity: 5", `"account:1" is no key of the overrides of rule api, which look like user:{jwt.sub}: "user:" is missing`},
		{"api", "account:1", "plan: pro", `"account:1" is no key of the overrides of rule api, which look like user:{jwt.sub}: "user:" is missing` +
			"\nplan: is for all rules together: write it among the overrides of plan"},
		{"aip", "user:1", "capacity: 5", `there is no rule "aip": did you mean api?`},
		{"web", "user:1", "capacity: 5", `there is no rule "web": the rules are api, chat, bucket, fast, journal and 6 more`},
		{"plain", "ip:203.0.113.9", "capacity: 5", "rule plain does not say that it has overrides: write overrides: true in the rule"},

		{"chat", "user:1", "capacity: {tokens: 200000}", ""},
		{"chat", "user:1", "capacity: 20", "capacity: rule chat has several limits: write a capacity for each by name, such as {requests: 10}"},
		{"chat", "user:1", "capacity: {token: 20}", `capacity.token: rule chat has no limit "token": did you mean tokens?`},
		{"chat", "user:1", "capacity: {words: 20}", `capacity.words: rule chat has no limit "words": there are requests and tokens`},
		{"chat", "user:1", "capacity: {tokens: 4, requests: 3}",
			"capacity.requests: a request costs 5 here, above the capacity 3, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit\n" +
				"capacity.tokens: a request costs 5 here, above the capacity 4, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit"},
		{"chat", "user:1", "limits: [{capacity: 4, window: 60s}]", // the rule's cost
			"limits: a request costs 5 here, above the capacity 4, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit"},
		{"chat", "user:1", "limits: [{capacity: 4, window: 60s, over: clamp}]", ""},
		{"chat", "user:1", "limits: [{capacity: 4, window: 60s, cost: 1}]", ""},

		{"bucket", "all", "capacity: 20", ""},
		{"bucket", "all", "capacity: 1", "capacity: at 1 in 30d, 200 take more than ten years: write at most 122"},
		{"fast", "all", "capacity: 1000000000", ""},
		{"fast", "all", "capacity: 1000000001", "capacity: 1000000001 in 1s is more than one unit in a nanosecond, faster than a bucket counts: write at most 1000000000"},
		{"bucket", "all", "limits: [{capacity: 1, window: 1s}]", ""},
		{"journal", "all", "capacity: 1000", ""},
		{"journal", "all", "capacity: 1001", "capacity: a sliding_window_log keeps every request, and 1000 is the most: lower it, or write algorithm: sliding_window"},

		{"refunding", "all", "limits: [{capacity: 5, window: 1s}]", ""},
		{"refunding", "all", "limits: [{algorithm: token_bucket, capacity: 5, window: 1s}]",
			"limits: the rule has refund_on, and a token_bucket cannot refund: write algorithm: sliding_window"},
		{"settling", "all", "limits: [{algorithm: token_bucket, capacity: 5, window: 1s}]",
			"limits: the rule's cost settles, and a token_bucket cannot be corrected afterwards: write algorithm: sliding_window, or a cost of its own"},
		{"settling", "all", "limits: [{algorithm: token_bucket, capacity: 5, window: 1s, cost: 1}]", ""},
		{"settling", "all", "capacity: 1", "capacity: a request costs 2 here, above the capacity 1, so none would ever be allowed: raise it, lower the cost, or write over: clamp in the limit"},

		{"partner", "partner:acme", "deny: true", ""},
		{"partner", "partner:acme", "capacity: 100", ""},
		{"partner", "partner:acme", "capacity: 200", ""}, // lowers nothing for pro, and everybody else keeps the rule's 100
		{"partner", "partner:acme", "capacity: 201", "capacity: 201 is above the rule's 200, and " + partner},
		{"open", "partner:acme", "capacity: 201", ""}, // a plan lifts the rule, so any capacity lowers something
		{"partner", "partner:acme", "unlimited: true", "unlimited: may loosen the rule, and " + partner},
		{"partner", "partner:acme", "limits: [{capacity: 1, window: 1h}]", "limits: may loosen the rule, and " + partner},
		{"verified", "partner:acme", "capacity: 201", ""},
		{"verified", "partner:acme", "unlimited: true", ""},

		{PlanOverrides, "user:1", "plan: pro", ""},
		{PlanOverrides, "user:1", "deny: true", ""},
		{PlanOverrides, "user:1", "plan: prp", `plan: there is no plan "prp": did you mean pro?`},
		{PlanOverrides, "user:1", "plan: enterprise", `plan: there is no plan "enterprise": there are free and pro`},
		{PlanOverrides, "user:1", "capacity: 5", "capacity: is for the keys of one rule: write plan or deny among the overrides of plan"},
		{PlanOverrides, "user:1", "unlimited: true", "unlimited: is for the keys of one rule: write plan or deny among the overrides of plan"},
		{PlanOverrides, "1", "deny: true", `"1" is no key of the overrides of plan, which look like user:{jwt.sub}: write user:1`},
	} {
		o, err := parseOverride("o", []byte(tt.document))
		if err != nil {
			t.Errorf("%s: %v", tt.document, err)
			continue
		}
		got := ""
		if err := s.CheckOverride(tt.rule, tt.key, o); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s of %s: %s (-want +got):\n%s", tt.key, tt.rule, tt.document, diff)
		}
	}
}

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
