package lint_test

import (
	"strings"
	"testing"
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
		"key: '{ip}', when: {methods: [get, PROPFIND, QUERY]}": "",
		"key: '{ip}', when: {methods: [GET, PSOT]}":            "rules[0].when.methods[1]: HTTP has no method PSOT: did you mean POST?",
		"key: '{ip}', unless: {methods: FETCHING}":             "rules[0].unless.methods: HTTP has no method FETCHING: write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS",
		"key: '{ip}', when: {path: '/a/*/x.json'}":             "",
		"key: '{ip}', when: {path: '/v1/items:search'}":        "",
		"key: '{ip}', when: {route: '/users/{id}'}":            "",
		"key: '{ip}', when: {path: '/a?b=1'}":                  `rules[0].when.path: pattern "/a?b=1": a ? begins the query, which no path holds: write /a, or`,
		"key: '{ip}', when: {path: '/users/[0-9]+/x'}":         `rules[0].when.path: pattern "/users/[0-9]+/x": a pattern is no regular expression, and all but * is text: write /users/*/x`,
		"key: '{ip}', when: {path: '/a$'}":                     `rules[0].when.path: pattern "/a$": a pattern is no regular expression, and all but * is text: write /a`,
		"key: '{ip}', when: {path: '/users/:id/x'}":            `rules[0].when.path: pattern "/users/:id/x": a parameter is not written with a colon, which is text: write /users/*/x`,
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

// Caveats say what becomes of rules for live callers, with one line for each
// rule, and one for corrections that need the backend's answer.
func TestCaveats(t *testing.T) {
	const unverified = "credentials are not verified yet: "
	for fields, want := range map[string]string{ // with the path; empty for none
		"key: 'ip:{ip}'": "",
		"key: 'ip:{ip}', when: {caller: [anonymous, known]}":                   "",
		"key: 'ip:{ip}', when: {match: {stage: prod}}":                         "",
		"key: 'user:{jwt.sub}', mode: off":                                     "",
		"key: 'user:{jwt.sub}', when: {caller: known}":                         "when: " + unverified + "the rule covers no live request",
		"key: 'ip:{ip}', when: {caller: rejected}":                             "when: " + unverified + "the rule covers no live request",
		"key: 'ip:{ip}', when: {caller: anonymous}":                            "when: " + unverified + "the rule covers live requests with a token or a key too",
		"key: 'user:{jwt.sub}'":                                                "key: " + unverified + "all live callers share one counter, because none has {jwt.sub}",
		"key: '{ip}|{apikey}'":                                                 "key: " + unverified + "live requests are counted without {apikey}",
		"key: 'ip:{ip}', unless: {caller: known}":                              "unless: " + unverified + "the rule leaves out no live request",
		"key: 'ip:{ip}', overrides: 'user:{jwt.sub}'":                          "overrides: " + unverified + "no override applies to a live request",
		"key: 'ip:{ip}', cost: {from: jwt.n, max: 1}":                          "limits: " + unverified + "every live request costs max, 1",
		"key: 'ip:{ip}', refund_on: 5xx":                                       "refund_on: the Lambda authorizer does not see the backend's answers: there nothing is refunded; only slidegate serve refunds",
		"key: 'ip:{ip}', cost: {from: header.n, min: 1, max: 1, settle: true}": "cost.settle: the Lambda authorizer does not see the backend's answers: there every request keeps what it first pays; only slidegate serve settles",
	} {
		s := load(t, "f", "rules: [{name: r, "+fields+", limits: [{capacity: 1, window: 1s}]}]")
		got := strings.Join(s.Caveats, "\n")
		if _, after, ok := strings.Cut(got, "rules[0]."); ok {
			got = after
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", fields, got, want)
		}
	}
	s := load(t, "f", "{rules: [], deny: [{caller: rejected}], skip: [{match: {jwt.admin: true}}], plan: {overrides: '{apikey}'}}")
	if got := strings.Join(s.Caveats, "\n"); strings.Count(got, unverified) != 3 || !strings.Contains(got, "deny[0]: ") ||
		!strings.Contains(got, "skip[0]: ") || !strings.Contains(got, "no live caller has a plan") {
		t.Errorf("caveats of deny, skip and plan:\n%s", got)
	}
}
