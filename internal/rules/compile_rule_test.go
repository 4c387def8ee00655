package rules

import (
	"encoding/json"
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
		{"key: a", func(r *Rule) any { return r.OnError }, OnErrorLocal},
		{"key: a, on_error: allow", func(r *Rule) any { return r.OnError }, OnErrorAllow},
		{"key: a", func(r *Rule) any { return r.Atomic || r.Quiet }, false},
		{"key: a, headers: on", func(r *Rule) any { return r.Quiet }, false},
		{"key: a, headers: off", func(r *Rule) any { return r.Quiet }, true},
		{"key: a", func(r *Rule) any { return r.prefix }, "r|"},
		{"key: a, counter: other", func(r *Rule) any { return r.prefix }, "other|"},
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

func TestCallersAndClaims(t *testing.T) {
	anonymous, byKey, rejected := request.Request{}, request.Request{APIKey: "k1"}, request.Request{Rejected: true, APIKey: "k1"}
	known := request.Request{Stage: "prod", IP: netip.MustParseAddr("10.1.2.3"), Claims: map[string]any{
		"plan": "pro", "level": 3.0, "admin": true, "roles": []any{"a", "b"}, "scope": "read write",
		"realm": map[string]any{"roles": []any{"admin"}}, "list": []any{"a", json.Number("7")}}}
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
		{"{match: {jwt.plan: pro}}", &anonymous, false}, {"{match: {jwt.missing: '-'}}", &known, false}, {"{match: {jwt.realm: admin}}", &known, false},
		{"{match: {jwt.list: 7}}", &known, true}, {"{match: {jwt./realm/roles: admin}}", &known, true}, {"{match: {jwt./scope: write}}", &known, true},
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

// A cost that the request states is bounded, and an unreadable one counts as the
// largest.
func TestStatedCost(t *testing.T) {
	cost := Cost{from: key.Part{Kind: key.FromHeader, Text: "x-tokens"}, Min: 500, Max: 8000}
	for _, test := range []struct {
		sent []string
		want int64
	}{
		{[]string{"700"}, 700}, {[]string{"1"}, 500}, {[]string{"0"}, 500}, {[]string{"8000"}, 8000}, {[]string{"8001"}, 8000},
		{nil, 8000}, {[]string{""}, 8000}, {[]string{"x"}, 8000}, {[]string{"-1"}, 8000}, {[]string{"+700"}, 8000}, {[]string{"7e2"}, 8000},
		{[]string{" 700"}, 8000}, {[]string{"700", "700"}, 8000}, {[]string{"99999999999999999999"}, 8000}, {[]string{"0x2bc"}, 8000},
	} {
		r := &request.Request{Headers: map[string][]string{"X-Tokens": test.sent}}
		if got := cost.of(r, 100_000); got != test.want {
			t.Errorf("%q costs %d, want %d", test.sent, got, test.want)
		}
	}
	clamped := Cost{from: key.Part{Kind: key.FromClaim, Text: "size"}, Min: 1, Max: 8000, Clamp: true}
	if got := clamped.of(&request.Request{Claims: claimsOf(t, `{"size": 5000}`)}, 4000); got != 4000 {
		t.Errorf("5000 of a limit that holds 4000 cost %d", got)
	}
	fixed := Fixed(5)
	if got := fixed.of(nil, 4); got != 5 {
		t.Errorf("a fixed cost of 5 is %d", got)
	}
}

// TestCompileAnswersOfRules: the answer of a rule is that of the document, but for
// the fields that the rule states. What is wrong is reported once.
func TestCompileAnswersOfRules(t *testing.T) {
	const all = "{status: 503, type: /full, title: Full, detail: Wait., content_type: text/plain, body: '{problemTitle}'}"
	whole := Denied{Status: 503, Type: "/full", Title: "Full", Detail: "Wait.", ContentType: "text/plain", Body: "{problemTitle}"}
	for _, tt := range []struct {
		document, rule string
		want           func(*Denied)
	}{
		{all, "{status: 402}", func(d *Denied) { d.Status = 402 }},
		{all, "{status: 429}", func(d *Denied) { d.Status = 429 }},
		{all, "{type: 'urn:spent'}", func(d *Denied) { d.Type = "urn:spent" }},
		{all, "{title: Spent}", func(d *Denied) { d.Title = "Spent" }},
		{all, "{detail: '{limit}'}", func(d *Denied) { d.Detail = "{limit}" }},
		{all, "{content_type: text/html}", func(d *Denied) { d.ContentType = "text/html" }},
		{all, "{body: spent}", func(d *Denied) { d.Body = "spent" }},
		{"", "{title: Spent}", func(d *Denied) { *d = Denied{Status: 429, Title: "Spent"} }},
	} {
		document := "{rules: [{name: a, key: k, limit: 1/s, denied: " + tt.rule + "}, {name: b, key: k, limit: 2/s}]"
		if tt.document != "" {
			document += ", denied: " + tt.document
		}
		want, set := whole, parse(t, document+"}")
		if tt.want(&want); *set.Rules[0].Denied != want || set.Rules[1].Denied != nil {
			t.Errorf("%s: %+v, and %+v of another rule; want %+v", tt.rule, set.Rules[0].Denied, set.Rules[1].Denied, want)
		}
	}
	for _, tt := range []struct{ document, rule, want string }{
		{"{status: 503}", "{}", "rules[0].denied: is empty: write a status, or a content_type and a body, or remove it"},
		{"{status: 503}", "{body: x}", "rules[0].denied: has a body of unknown type: write content_type: application/json, or another type"},
		{"{content_type: json}", "{body: x}", `denied.content_type: "json" is no media type: write one such as application/json or text/html; charset=utf-8`},
	} {
		_, err := read(t, "f", "{rules: [{name: a, key: k, limit: 1/s, denied: "+tt.rule+"}], denied: "+tt.document+"}")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%s of a rule:\ngot  %v\nwant %s", tt.rule, err, tt.want)
		}
	}
}

func TestCompileAnswers(t *testing.T) {
	a := parse(t, "{headers: both, retry_jitter: 1m30s, denied: {body: hi, content_type: text/plain}, rules: []}").Answers
	if a.Fields != BothFields || a.RetryJitter != 90*time.Second || *a.Denied != (Denied{Status: 429, ContentType: "text/plain", Body: "hi"}) {
		t.Errorf("%+v, denied %+v", a, a.Denied)
	}
	const uri = "write one such as https://example.com/problems/month-spent, and a media type as content_type"
	for _, tt := range []struct{ fields, want string }{
		{"headers: x-ratelimit", `headers: unknown value "x-ratelimit": write legacy`},
		{"retry_jitter: 500ms", `retry_jitter: "500ms" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 1500ms", `retry_jitter: "1500ms" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 2h", `retry_jitter: "2h" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 10%", `retry_jitter: "10%" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"denied: {}", "denied: is empty: write a status, or a content_type and a body, or remove it"},
		{"denied: {status: 200}", "denied.status: 200 is out of range: write a number from 400 to 599"},
		{"denied: {body: x}", "denied: has a body of unknown type: write content_type: application/json, or another type"},
		{"denied: {content_type: json}", `denied.content_type: "json" is no media type: write one such as application/json or text/html; charset=utf-8`},
		{`denied: {content_type: "text/plain\r\nX: y"}`, `denied.content_type: "text/plain\r\nX: y" is no media type: write one such as application/json or text/html; charset=utf-8`},
		{"denied: {content_type: text/plain, body: é}", "denied.body: has other characters than plain ASCII: write them as \\u00e9 in JSON, or as &eacute; in HTML"},
		{"denied: {content_type: text/plain, body: " + strings.Repeat("a", 2049) + "}", "denied.body: has 2049 bytes, and 2048 is the most: shorten it"},
		{"denied: {content_type: text/plain, body: '{rule} {rateLimit}'}",
			"denied.body: unknown value {rateLimit}: there are {rule}, {limit}, {remaining}, {reset}, {retryAfter}, {degraded}, {problemType}, {problemTitle}, {problemDetail}"},
		{"denied: {type: month spent}", `denied.type: "month spent" is no URI of a problem type: ` + uri},
		{"denied: {type: application/json, content_type: text/plain, body: x}", `denied.type: "application/json" is no URI of a problem type: ` + uri},
		{"denied: {title: 'in {retryAfter} s'}", `denied.title: "in {retryAfter} s" is no plain ASCII of at most 300 characters without ", \, <, >, { and }: write a title without them`},
		{`denied: {detail: '"full"'}`, `denied.detail: "\"full\"" is no plain ASCII of at most 300 characters without ", \, < and >: write a detail without them`},
		{"denied: {detail: '{problemDetail}'}",
			"denied.detail: unknown value {problemDetail}: there are {rule}, {limit}, {remaining}, {reset}, {retryAfter}, {degraded}, {problemType}, {problemTitle}"},
		{"denied: {content_type: text/plain, body: 'in {retry_after} s'}",
			"denied.body: unknown value {retry_after}: there are {rule}, {limit}, {remaining}, {reset}, {retryAfter}, {degraded}, {problemType}, {problemTitle}, {problemDetail}"},
	} {
		_, err := read(t, "f", "{rules: [], "+tt.fields+"}")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
		}
	}
}
