package lint_test

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/lint"
)

// Keys, methods and patterns that match nothing, or everything at once, draw
// warnings in every place, and the same words where they are meant do not.
func TestWarningsOfUselessWords(t *testing.T) {
	const limits = "limits: [{capacity: 1, window: 1s}]"
	for rule, want := range map[string]string{ // the start of the only warning, empty for none
		"key: all":                 "",
		"key: 'ip:{ip}'":           "",
		"key: '{stage}'":           "",
		"key: ip":                  "rules[0].key: ip without braces is text, so all requests share one counter: write \"{ip}\"",
		"key: $ip":                 "rules[0].key: $ip without braces is text, so all requests share one counter: write \"{ip}\"",
		"key: jwt.sub":             "rules[0].key: jwt.sub without braces",
		"key: everyone":            "rules[0].key: no source is in it",
		"key: 'ip:${ip}'":          "rules[0].key: $ is text of the key, and no part of a source: write ip:{ip}",
		"key: everyone, mode: off": "",
		"key: '{ip}', when: {methods: [get, PROPFIND, QUERY]}":                        "",
		"key: '{ip}', when: {methods: [GET, PSOT]}":                                   "rules[0].when.methods[1]: HTTP has no method PSOT: did you mean POST?",
		"key: '{ip}', unless: {methods: FETCHING}":                                    "rules[0].unless.methods: HTTP has no method FETCHING: write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS",
		"key: '{ip}', when: {path: '/a/*/x.json'}":                                    "",
		"key: '{ip}', when: {path: '/v1/items:search'}":                               "",
		"key: '{ip}', when: {route: '/users/{id}'}":                                   "",
		"key: '{ip}', when: {path: '/a?b=1'}":                                         `rules[0].when.path: pattern "/a?b=1": a ? begins the query, which no path holds: write /a, or`,
		"key: '{ip}', when: {path: '/users/[0-9]+/x'}":                                `rules[0].when.path: pattern "/users/[0-9]+/x": a pattern is no regular expression, and all but * is text: write /users/*/x`,
		"key: '{ip}', when: {path: '/a$'}":                                            `rules[0].when.path: pattern "/a$": a pattern is no regular expression, and all but * is text: write /a`,
		"key: '{ip}', when: {path: '/users/:id/x'}":                                   `rules[0].when.path: pattern "/users/:id/x": :id is text, and no parameter: write /users/*/x`,
		"key: '{ip}', when: {path: '/users/<int:id>/x'}":                              `rules[0].when.path: pattern "/users/<int:id>/x": <int:id> is text, and no parameter: write /users/*/x`,
		"key: '{ip}', when: {route: '/users/<id>'}":                                   `rules[0].when.route: pattern "/users/<id>": <id> is text, and no parameter: write /users/{id}`,
		"key: '{ip}', when: {route: '/users/[id]'}":                                   `rules[0].when.route: pattern "/users/[id]": [id] is text, and no parameter: write /users/{id}`,
		"key: '{ip}', when: {path: '/users/[a-z]'}":                                   `rules[0].when.path: pattern "/users/[a-z]": a pattern is no regular expression`,
		"key: '{ip}', when: {path: '/(a|b)'}":                                         `rules[0].when.path: pattern "/(a|b)": a pattern is no regular expression`,
		"key: '{ip}', when: {path: '/#/login'}":                                       `rules[0].when.path: pattern "/#/login": a # begins the fragment, which no client sends: write /`,
		"key: '{ip}', when: {path: '/static/*.*'}":                                    "",
		"key: '{ip}', cost: 0":                                                        "rules[0].cost: requests cost 0, so the rule limits nothing",
		"key: '{ip}', cost: 0, overrides: true":                                       "",
		"key: '{ip}', unless: {path: '/**'}":                                          "rules[0].unless: it leaves out every request that the rule covers",
		"key: '{ip}', when: {methods: GET, path: /a}, unless: {methods: [GET, HEAD]}": "rules[0].unless: it leaves out every request that the rule covers",
		"key: '{ip}', unless: {cidrs: [0.0.0.0/0, '::/0']}":                           "rules[0].unless: it leaves out",
		"key: '{ip}', unless: {cidrs: 0.0.0.0/0}":                                     "",
		"key: '{ip}', when: {match: {stage: a}}, unless: {match: {stage: [a, b]}}":    "rules[0].unless: it leaves out",
		"key: '{ip}', when: {match: {stage: [a, b]}}, unless: {match: {stage: a}}":    "",
		"key: '{ip}', when: {path: /a}, unless: {methods: GET}":                       "",
	} {
		s := load(t, "f", "rules: [{name: r, "+rule+", "+limits+"}]")
		got := strings.Join(s.Warnings, "\n")
		if _, after, ok := strings.Cut(got, ": "); ok {
			got = after
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s:\ngot  %s\nwant %s", rule, got, want)
		}
	}
	s := load(t, "f", "{rules: [], deny: [{methods: GTE}], skip: [{path: '/health?full'}]}")
	if len(s.Warnings) != 2 || !strings.Contains(s.Warnings[0], "deny[0].methods") || !strings.Contains(s.Warnings[1], "skip[0].path") {
		t.Errorf("warnings of deny and skip: %q", s.Warnings)
	}
}

// A skip that covers a rule leaves nothing to limit; one that covers a part of
// it is what skip is for.
func TestWarningsOfSkippedRules(t *testing.T) {
	const rule = "rules: [{name: r, key: '{ip}', when: {methods: [GET, POST], path: /a}, limit: 1/s}]"
	for skip, warned := range map[string]bool{
		"{route: '/**'}": true, "{path: '/**'}": true, "{path: /a}": true, "{methods: [GET, POST, PUT]}": true, "{caller: [anonymous, known, rejected]}": true,
		"{methods: GET}": false, "{path: /b}": false, "{caller: known}": false, "{path: /a, cidrs: 10.0.0.0/8}": false, "{match: {stage: a}}": false,
	} {
		s := load(t, "f", "{skip: [{path: /health}, "+skip+"], "+rule+"}")
		want := 0
		if warned {
			want = 1
		}
		if len(s.Warnings) != want || warned && !strings.Contains(s.Warnings[0], "rules[0]: skip[1] lifts all limits of every request") {
			t.Errorf("skip %s: warnings %q", skip, s.Warnings)
		}
	}
}

// Caveats say what becomes of rules for live callers, with one line for each
// rule.
func TestCaveats(t *testing.T) {
	const unverified = "credentials are not verified without authentication: "
	for fields, want := range map[string]string{ // with the path; empty for none
		"key: 'ip:{ip}'": "",
		"key: 'ip:{ip}', when: {caller: [anonymous, known]}": "",
		"key: 'ip:{ip}', when: {match: {stage: prod}}":       "",
		"key: 'user:{jwt.sub}', mode: off":                   "",
		"key: 'user:{jwt.sub}', when: {caller: known}":       "when: " + unverified + "the rule covers no live request",
		"key: 'ip:{ip}', when: {caller: rejected}":           "when: " + unverified + "the rule covers no live request",
		"key: 'ip:{ip}', when: {caller: anonymous}":          "when: " + unverified + "the rule covers live requests with a token or a key too",
		"key: 'user:{jwt.sub}'":                              "key: " + unverified + "all live callers share one counter, because none has {jwt.sub}",
		"key: '{ip}|{apikey}'":                               "key: " + unverified + "live requests are counted without {apikey}",
		"key: 'ip:{ip}', unless: {caller: known}":            "unless: " + unverified + "the rule leaves out no live request",
		"key: 'ip:{ip}', overrides: 'user:{jwt.sub}'":        "overrides: " + unverified + "no override applies to a live request",
		"key: 'ip:{ip}', cost: {from: jwt.n, max: 1}":        "cost: " + unverified + "every live request costs max, 1",
		"key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1}, limits: [{capacity: 1, window: 1mo, anchor: {from: jwt.day, default: 3}}]": "limits[0].anchor: " + unverified + "months of all live callers start on day 3",
		"key: 'ip:{ip}', limits: [{capacity: 1, window: 1mo, anchor: {from: stage}}]":                                                       "",
		"key: 'ip:{ip}', refund_on: 5xx":                                       "",
		"key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1, settle: true}": "",
	} {
		if !strings.Contains(fields, "limits:") {
			fields += ", limit: 1/s"
		}
		s := load(t, "f", "rules: [{name: r, "+fields+"}]")
		got := strings.Join(s.Caveats, "\n")
		if _, after, ok := strings.Cut(got, "rules[0]."); ok {
			got = after
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", fields, got, want)
		}
	}
	for plan, want := range map[string]string{
		"{from: jwt.plan}":                       "plan: " + unverified + "no live caller has a plan",
		"{overrides: '{apikey}'}":                "plan: " + unverified + "no live caller has a plan",
		"{from: stage}":                          "",
		"{from: stage, overrides: '{apikey}'}":   "plan.overrides: " + unverified + "no override of a plan applies to a live request",
		"{from: jwt.plan, overrides: 'ip:{ip}'}": "plan.from: " + unverified + "a live caller has a plan by an override alone",
	} {
		s := load(t, "f", "{rules: [{name: r, key: '{ip}', limit: 1/s}], plans: {pro: {r: 5}}, plan: "+plan+"}")
		if got := strings.Join(s.Caveats, "\n"); want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", plan, got, want)
		}
	}
	own := load(t, "f", "{rules: [], denied: {status: 503}}")
	if got := strings.Join(own.Caveats, "\n"); !strings.HasSuffix(got, "denied: a REST API answers denied requests as it was deployed, "+
		"with status 429 and problem details: only slidegate serve and the Go library use this") {
		t.Errorf("caveats of denied: %s", got)
	}
	s := load(t, "f", "{rules: [], deny: [{caller: rejected}], skip: [{match: {jwt.admin: true}}], plan: {overrides: '{apikey}'}}")
	if got := strings.Join(s.Caveats, "\n"); strings.Count(got, unverified) != 3 || !strings.Contains(got, "deny[0]: ") ||
		!strings.Contains(got, "skip[0]: ") || !strings.Contains(got, "no live caller has a plan") {
		t.Errorf("caveats of deny, skip and plan:\n%s", got)
	}
}

// TestCaveatsOfVerified: what a document verifies draws no caveat. API keys are
// not verified.
func TestCaveatsOfVerified(t *testing.T) {
	const keys = "API keys are not verified without authentication.api_key: "
	for rest, want := range map[string]string{
		"rules: [{name: r, key: 'user:{jwt.sub}', limit: 1/s}]":                                                          "",
		"rules: [{name: r, key: 'ip:{ip}', when: {caller: known}, limit: 1/s}]":                                          "",
		"rules: [{name: r, key: 'ip:{ip}', when: {caller: rejected}, limit: 1/s}]":                                       "",
		"rules: [{name: r, key: 'ip:{ip}', when: {caller: anonymous}, limit: 1/s}]":                                      "",
		"deny: [{match: {jwt.sub: x}}], rules: []":                                                                       "",
		"plan: {from: jwt.plan}, plans: {pro: {r: 5}}, rules: [{name: r, key: 'user:{jwt.sub}', limit: 1/s}]":            "",
		"rules: [{name: r, key: 'user:{jwt.sub}', overrides: 'org:{jwt.org}', cost: {from: jwt.n, max: 1}, limit: 1/s}]": "",
		"rules: [{name: r, key: '{jwt.sub}|{apikey}', limit: 1/s}]":                                                      keys + "live requests are counted without {apikey}",
		"rules: [{name: r, key: 'ip:{ip}', when: {match: {apikey: k}}, limit: 1/s}]":                                     keys + "the rule covers no live request",
	} {
		s := load(t, "f", "{authentication: {jwt: [{issuer: 'https://id.example.com', audience: api}]}, "+rest+"}")
		if got := strings.Join(s.Caveats, "\n"); want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", rest, got, want)
		}
		idle, lumped := lint.WithoutCredentials(s)
		if want == "" && len(idle)+len(lumped) > 0 {
			t.Errorf("%s: idle %q, lumped %q", rest, idle, lumped)
		}
	}
}
