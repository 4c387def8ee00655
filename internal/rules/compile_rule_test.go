package rules

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestRuleFields(t *testing.T) {
	for _, tt := range []struct {
		fields string
		check  func(r *Rule) any
		want   any
	}{
		{"key: a", func(r *Rule) any { return r.Mode }, Enforce},
		{"key: a, mode: enforce", func(r *Rule) any { return r.Mode }, Enforce},
		{"key: a, mode: shadow", func(r *Rule) any { return r.Mode }, Shadow},
		{"key: a, mode: off", func(r *Rule) any { return r.Mode }, Off},
		{"key: a, mode: off, atomic: true", func(r *Rule) any { return r.Atomic }, true},
		{"key: a", func(r *Rule) any { return r.Quiet }, false},
		{"key: a, headers: on", func(r *Rule) any { return r.Quiet }, false},
		{"key: a, headers: off", func(r *Rule) any { return r.Quiet }, true},
		{"key: a", func(r *Rule) any { return r.prefix }, "r|"},
		{"key: a, counter: other", func(r *Rule) any { return r.prefix }, "other|"},
		{"key: a, counter: r", func(r *Rule) any { return r.prefix }, "r|"},
		{"key: a", func(r *Rule) any { return r.overridable == nil && !r.TakesOverrides() }, true},
		{"key: a, overrides: false", func(r *Rule) any { return r.overridable == nil && !r.TakesOverrides() }, true},
		{"key: 'a:{ip}', overrides: true", func(r *Rule) any { return r.overridable.String() }, "a:{ip}"},
		{"key: 'a:{ip}', overrides: 't:{jwt.t}'", func(r *Rule) any { return r.overridable.String() }, "t:{jwt.t}"},
		{"key: 'a:{ip}', overrides: true", func(r *Rule) any { return r.TakesOverrides() }, true},
		{"key: a, refund_on: 5xx", func(r *Rule) any { return r.refunds }, []Statuses{{500, 599}}},
		{"key: a, refund_on: [404, 1xx, 599]", func(r *Rule) any { return r.refunds }, []Statuses{{404, 404}, {100, 199}, {599, 599}}},
		{"key: a, unless: {path: /x}", func(r *Rule) any { return r.unless.Paths[0].Text }, "/x"},
		{"key: a", func(r *Rule) any { return r.cost }, Fixed(1)},
		{"key: a, cost: 3", func(r *Rule) any { return r.cost }, Fixed(3)},
		{"key: a, cost: {from: header.X-N, min: 2, max: 9}", func(r *Rule) any { return r.cost }, Cost{from: key.Part{Kind: key.FromHeader, Text: "x-n"}, Min: 2, Max: 9}},
		{"key: a, cost: {from: query.n, min: 1, max: 9, settle: true}", func(r *Rule) any { return r.cost }, Cost{Settle: true, from: key.Part{Kind: key.FromQuery, Text: "n"}, Min: 1, Max: 9}},
		{"key: a, cost: {from: path.n, min: 9, max: 9}", func(r *Rule) any { return r.cost }, Cost{from: key.Part{Kind: key.FromPath, Text: "n"}, Min: 9, Max: 9}},
		{"key: a, cost: {from: jwt./usage/n, max: 9}", func(r *Rule) any { return r.cost }, Cost{from: key.Part{Kind: key.FromClaim, Text: "/usage/n"}, Max: 9}},
	} {
		r := parseRule(t, tt.fields)
		if diff := cmp.Diff(tt.want, tt.check(r), inside); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

// Costs, candidates and anchors follow their limits when those are sorted by name.
func TestBesideLimits(t *testing.T) {
	r := parse(t, `
rules:
- name: r
  key: k
  cost: 2
  limits:
  - {name: c, capacity: 30, window: 1mo, anchor: {from: jwt.c, default: 7}, candidate: 20}
  - {name: b, capacity: 20, window: 1s, cost: 3, over: clamp}
  - {name: a, capacity: 10, window: 1mo, anchor: {from: jwt.a}, candidate: 150%}`).Rules[0]
	if diff := cmp.Diff([]Candidate{{Percent: 150}, {}, {Units: 20}}, r.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]anchor{{0, key.Part{Kind: key.FromClaim, Text: "a"}, 1}, {2, key.Part{Kind: key.FromClaim, Text: "c"}, 7}}, r.anchors, inside); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Cost{Fixed(2), {Min: 3, Max: 3, Clamp: true}, Fixed(2)}, r.Costs, inside); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	if r := parseRule(t, "key: k"); r.Candidates != nil {
		t.Errorf("candidates %v of a rule without", r.Candidates)
	}
}

func TestUnless(t *testing.T) {
	r := parseRule(t, "key: k, when: {path: /v1/**}, unless: {path: [/v1/hooks/**, /v1/health], methods: POST}")
	for _, tt := range []struct {
		method, path string
		want         bool
	}{
		{"POST", "/v1/items", true}, {"POST", "/v1/hooks/x", false}, {"GET", "/v1/hooks/x", true}, {"POST", "/v1/Hooks/x", true},
		{"post", "/v1/hooks/x", true}, {"POST", "/v1//hooks/x", true}, {"POST", "/v1/hooks/../items", true}, {"POST", "/v2", false},
	} {
		if got := r.Matches(&request.Request{Method: tt.method, Path: tt.path}); got != tt.want {
			t.Errorf("%s %s: %t, want %t", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestCallersAndClaims(t *testing.T) {
	anonymous, byKey, rejected := request.Request{}, request.Request{APIKey: "k1"}, request.Request{Rejected: true, APIKey: "k1"}
	known := request.Request{Stage: "prod", IP: netip.MustParseAddr("10.1.2.3"), Claims: map[string]any{
		"plan": "pro", "level": 3.0, "admin": true, "roles": []any{"a", "b"}, "scope": "read write"}}
	for _, tt := range []struct {
		when string
		req  *request.Request
		want bool
	}{
		{"{caller: anonymous}", &anonymous, true}, {"{caller: anonymous}", &known, false}, {"{caller: anonymous}", &rejected, false},
		{"{caller: known}", &byKey, true}, {"{caller: known}", &known, true}, {"{caller: known}", &rejected, false},
		{"{caller: rejected}", &rejected, true}, {"{caller: [known, rejected]}", &rejected, true}, {"{caller: [known, rejected]}", &anonymous, false},
		{"{caller: [known, anonymous, rejected]}", &anonymous, true},
		{"{match: {jwt.plan: pro}}", &known, true}, {"{match: {jwt.plan: [free, pro]}}", &known, true}, {"{match: {jwt.plan: Pro}}", &known, false},
		{"{match: {jwt.plan: pro}}", &anonymous, false},
		{"{match: {jwt.level: 3}}", &known, true}, {"{match: {jwt.level: '3'}}", &known, true}, {"{match: {jwt.level: [1, 2]}}", &known, false},
		{"{match: {jwt.admin: true}}", &known, true}, {"{match: {jwt.admin: True}}", &known, true}, {"{match: {jwt.admin: 'false'}}", &known, false},
		{"{match: {jwt.roles: b}}", &known, true}, {"{match: {jwt.roles: c}}", &known, false}, {"{match: {jwt./roles/0: a}}", &known, true},
		{"{match: {jwt.scope: write}}", &known, true}, {"{match: {jwt.plan: pro, stage: prod}}", &known, true}, {"{match: {jwt.plan: pro, stage: test}}", &known, false},
		{"{match: {apikey: [k1, k2]}}", &byKey, true}, {"{match: {apikey: k2}}", &byKey, false}, {"{match: {apikey: k1}}", &rejected, false},
		{"{cidrs: 10.0.0.0/8}", &known, true}, {"{cidrs: [11.0.0.0/8]}", &known, false}, {"{cidrs: 10.0.0.0/8, caller: known}", &known, true},
	} {
		for field, covers := range map[string]func(*Set) bool{
			"when":   func(s *Set) bool { return s.Rules[0].Matches(tt.req) },
			"unless": func(s *Set) bool { return !s.Rules[0].Matches(tt.req) },
			"deny":   func(s *Set) bool { return s.Banned(tt.req) },
			"skip":   func(s *Set) bool { return s.Skipped(tt.req) },
		} {
			document := "{rules: [{name: r, key: k, limits: [{capacity: 1, window: 1s}], " + field + ": " + tt.when + "}]}"
			if field == "deny" || field == "skip" {
				document = "{rules: [], " + field + ": [" + tt.when + "]}"
			}
			if got := covers(parse(t, document)); got != tt.want {
				t.Errorf("%s: %s covers %+v: %t, want %t", field, tt.when, tt.req, got, tt.want)
			}
		}
	}
}

// Counters are shared by rules that name the same one, and by no others.
func TestCounters(t *testing.T) {
	rule := func(name, fields string) string {
		return "{name: " + name + ", key: k, limits: [{capacity: 1, window: 1s}]" + fields + "}"
	}
	keyed := func(name, key, fields string) string {
		return "{name: " + name + ", key: " + key + ", counter: x, limits: [{capacity: 1, window: 1s}]" + fields + "}"
	}
	for _, tt := range []struct {
		name, rules, want string
	}{
		{"shared", rule("a", ", counter: x") + ", " + rule("b", ", counter: x"), ""},
		{"with the owner's consent", rule("a", ", counter: a") + ", " + rule("b", ", counter: a"), ""},
		{"kept under a new name", rule("a", ", counter: x"), ""},
		{"two in shadow", rule("a", ", counter: x, mode: shadow") + ", " + rule("b", ", counter: x, mode: shadow"), ""},
		{"one that is off", rule("a", ", counter: x, mode: off") + ", " + rule("b", ", counter: x, mode: shadow"), ""},
		{"one atomic", rule("a", ", counter: x, atomic: true") + ", " + rule("b", ", counter: x"), ""},

		{"of a rule that does not share", rule("a", "") + ", " + rule("b", ", counter: a"),
			`rules[1].counter: "a" is the name of rules[0], which does not share its counters: write counter: a there too, or another name`},
		{"of a rule that has another", rule("a", ", counter: x") + ", " + rule("b", ", counter: a"),
			`rules[1].counter: "a" is the name of rules[0], which does not share its counters: write counter: a there too, or another name`},
		{"of a rule below", rule("a", ", counter: b") + ", " + rule("b", ""),
			`rules[0].counter: "b" is the name of rules[1], which does not share its counters: write counter: b there too, or another name`},
		{"both atomic", rule("a", ", counter: x, atomic: true") + ", " + rule("b", ", counter: x, atomic: true"),
			"rules[1].counter: rule a has this counter too, and two atomic rules cannot be charged together on one: remove atomic from one of them, or write another counter"},
		{"hashed in both", rule("a", ", counter: x, hash: true") + ", " + rule("b", ", counter: x, hash: true"), ""},
		{"one hashed", rule("a", ", counter: x") + ", " + rule("b", ", counter: x, hash: true"),
			"rules[1].counter: rule a has this counter too, and only one of the two hashes its keys, so they would share nothing: write hash: true in both"},
		{"one in shadow", rule("a", ", counter: x") + ", " + rule("b", ", counter: x, mode: shadow"),
			"rules[1].counter: rule a has this counter too, and what the one in shadow takes would be missing in the other: write another counter while it is in shadow"},

		{"by the same word of the client", keyed("a", "'u:{header.x}'", "") + ", " + keyed("b", "'u:{header.X}|'", ""), ""},
		{"by a word that the backend verifies", keyed("a", "'u:{jwt.sub}'", "") + ", " + keyed("b", "'u:{path.user}'", ", trusted: path.user"), ""},
		{"by trusted sources", keyed("a", "'u:{jwt.sub}'", "") + ", " + keyed("b", "'u:{ip}'", ""), ""},
		{"by a client's word where the rule is off", keyed("a", "'u:{jwt.sub}'", "") + ", " + keyed("b", "'u:{header.x}'", ", mode: off"), ""},
		{"by a client's word in the rule below", keyed("a", "'u:{jwt.sub}'", "") + ", " + keyed("b", "'u:{header.x}'", ""),
			"rules[1].counter: rule a has this counter too, and {header.x} in the key of b is set by the client, which could use up the counters of others: count by the same sources in both, or write another counter"},
		{"by a client's word in the rule above", keyed("a", "'u:{query.x}'", "") + ", " + keyed("b", "all", ""),
			"rules[1].counter: rule a has this counter too, and {query.x} in the key of a is set by the client, which could use up the counters of others: count by the same sources in both, or write another counter"},
		{"by one more word of the client", keyed("a", "'{header.x}|{header.y}'", "") + ", " + keyed("b", "'{header.x}|{ip}'", ""),
			"rules[1].counter: rule a has this counter too, and {header.y} in the key of a is set by the client, which could use up the counters of others: count by the same sources in both, or write another counter"},
	} {
		document := "rules: [" + tt.rules + "]"
		if strings.Contains(document, "hash: true") {
			document = "hash_secret: {env: E, check: 1a2b3c4d}\n" + document
		}
		s, err := read(t, "f", document)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s:\ngot  %v\nwant %s", tt.name, err, tt.want)
		case tt.name == "shared" && item(s.Rules[0], "k") != item(s.Rules[1], "k"):
			t.Errorf("%s and %s are two counters", item(s.Rules[0], "k"), item(s.Rules[1], "k"))
		}
	}
}

// Requests may state their cost, on limits of each kind.
func TestStatedCosts(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{"cost: {from: jwt.n, max: 9}, limits: [{capacity: 9, window: 1s}]", ""},
		{"cost: {from: jwt.n, min: 9, max: 90}, limits: [{capacity: 9, window: 1s, over: clamp}]", ""},
		{"cost: {from: jwt.n, min: 10, max: 90}, limits: [{capacity: 9, window: 1s, over: clamp}]", ""},
		{"cost: {from: jwt.n, min: 10, max: 90}, limits: [{capacity: 9, window: 1s}]",
			"cost: 10 is above the capacity 9 of rules[0].limits[0], so no request would ever be allowed: lower the cost, raise the capacity, or write over: clamp in the limit"},
		{"cost: {from: jwt.n, max: 9, settle: true}, limits: [{algorithm: leaky_bucket, capacity: 9, window: 1s}]",
			"cost: rules[0].limits[0] is a leaky_bucket, which cannot be corrected afterwards: remove settle, or write algorithm: sliding_window there"},
		{"cost: {from: jwt.n, max: 9, settle: true}, limits: [{algorithm: leaky_bucket, capacity: 9, window: 1s, cost: 1}]", ""},
		{"cost: {from: header.x, max: 9}, limits: [{capacity: 9, window: 1s}]",
			"cost: min is missing or 0, and the client sets header.x: write the least that a client can pay, 1 or more"},
		{"cost: {from: header.x, min: 0, max: 9}, limits: [{capacity: 9, window: 1s}]",
			"cost.min: is missing or 0, and the client sets header.x: write the least that a client can pay, 1 or more"},
		{"limits: [{capacity: 9, window: 1s, cost: {from: path.n, min: 0, max: 9, settle: true}}]",
			"limits[0].cost.min: is missing or 0, and the client sets path.n: write the least that a client can pay, 1 or more"},
		{"cost: {from: query.n, min: 1, max: 9}, limits: [{capacity: 9, window: 1s}]", ""},
		{"cost: {from: jwt.n, min: 0, max: 9}, limits: [{capacity: 9, window: 1s}]", ""},
		{"cost: {from: method, min: 1, max: 9}, limits: [{capacity: 9, window: 1s}]",
			"cost.from: method states no number: write a header, a parameter or a claim, such as header.x-tokens"},
		{"cost: {from: apikey, max: 9}, limits: [{capacity: 9, window: 1s}]",
			"cost.from: apikey states no number: write a header, a parameter or a claim, such as header.x-tokens"},
		{"cost: {from: 7, max: 9}, limits: [{capacity: 9, window: 1s}]", `cost.from: must be text, and is a number: write "7"`},
		{"cost: {from: tokens, max: 9}, limits: [{capacity: 9, window: 1s}]",
			"cost.from: unknown source tokens: there are ip, jwt.NAME, apikey, header.NAME, query.NAME, path.NAME, method, route, stage, country and asn"},
		{"cost: {from: '{header.x}', min: 1, max: 9}, limits: [{capacity: 9, window: 1s}]", "cost.from: a source has braces in keys alone: write header.x"},
	} {
		_, err := read(t, "f", "rules: [{name: r, key: k, "+tt.fields+"}]")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": rules[0]."+tt.want)) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
		}
	}
}

// An override's limit without a cost has that of the rule's limit of the same
// name, else the rule's own.
func TestInheritedCosts(t *testing.T) {
	s := parse(t, `
rules:
- name: chat
  key: k
  cost: 2
  limits:
  - {name: requests, capacity: 10, window: 60s, cost: 1}
  - {name: tokens, capacity: 4000, window: 60s, cost: {from: header.x-tokens, min: 500, max: 8000, settle: true}, over: clamp}
overrides:
  chat:
    k:
      limits:
      - {name: tokens, capacity: 9000, window: 1h}
      - {name: words, algorithm: token_bucket, capacity: 9000, window: 1h}
      - {name: requests, capacity: 100, window: 60s, cost: 7}`)
	req := &request.Request{Headers: map[string][]string{"X-Tokens": {"700"}}}
	terms := s.Rules[0].Terms(req, "", s.Override("chat", "k"), time.Time{})
	if diff := cmp.Diff([]int64{7, 700, 2}, terms.Costs); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	if terms.Settles(0) || !terms.Settles(1) || terms.Settles(2) {
		t.Error("tokens alone settle")
	}
	if terms.Limits[2].Algorithm != limit.TokenBucket {
		t.Errorf("limits %v", terms.Limits)
	}
}
