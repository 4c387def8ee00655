package rules

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// A document denies ambiguous paths if anything in it selects by path, unless it
// sets ambiguous_paths.
func TestAmbiguous(t *testing.T) {
	const limits = "key: all, limits: [{capacity: 1, window: 1s}]}]"
	for _, tt := range []struct {
		name, document string
		denied         bool
	}{
		{"nothing looks at paths", "rules: [{name: r, " + limits, false},
		{"other fields", "deny: [{methods: [TRACE]}]\nskip: [{cidrs: 10.0.0.0/8}]\nrules: [{name: r, when: {caller: known}, " + limits, false},
		{"a rule by path", "rules: [{name: r, when: {path: /a}, " + limits, true},
		{"a rule by route", "rules: [{name: r, when: {route: /a}, " + limits, true},
		{"a rule in shadow", "rules: [{name: r, mode: shadow, when: {path: /a}, " + limits, true},
		{"a rule that is off", "rules: [{name: r, mode: 'off', when: {path: /a}, " + limits, false},
		{"unless", "rules: [{name: r, unless: {path: /a}, " + limits, true},
		{"deny", "deny: [{path: /a}]\nrules: []", true},
		{"skip", "skip: [{route: /a}]\nrules: []", true},
		{"clean is stated", "ambiguous_paths: clean\nrules: [{name: r, when: {path: /a}, " + limits, false},
		{"deny is stated", "ambiguous_paths: deny\nrules: [{name: r, when: {path: /a}, " + limits, true},
		{"deny is stated where nothing looks at paths", "ambiguous_paths: deny\nrules: [{name: r, " + limits, true},
	} {
		s := parse(t, tt.document)
		for _, route := range []string{"", "GET /a/{b}"} {
			for path, want := range map[string]bool{"/a//b": tt.denied, "/a/b": false, "/a/": false, "": false, "/a%20b": false} {
				req := request.Request{Path: path, Route: route}
				why, ambiguous := s.WhyAmbiguous(&req)
				if s.Ambiguous(&req) != want || ambiguous != want || (why != "") != want {
					t.Errorf("%s: %q on route %q is denied: %t, %t, %q; want %t", tt.name, path, route, s.Ambiguous(&req), ambiguous, why, want)
				}
			}
		}
	}
}

func TestWhyAmbiguous(t *testing.T) {
	s := parse(t, "skip: [{path: /health}]\nrules: []")
	for path, want := range map[string]string{
		"/a//b":             "path /a//b has an empty segment, and ambiguous_paths is deny",
		"/x/%2e%2E/y":       "path /x/%2e%2E/y has a dot segment in %2e%2E, and ambiguous_paths is deny",
		"/files/a%2Fb/c":    "path /files/a%2Fb/c has an encoded slash in a%2Fb, and ambiguous_paths is deny",
		"/health;x=1":       "path /health;x=1 has a semicolon in health;x=1, and ambiguous_paths is deny",
		"/health\x00":       `path "/health\x00" has a control character in "health\x00", and ambiguous_paths is deny`,
		"/100%25/x":         "path /100%25/x has a percent sign after decoding in 100%25, and ambiguous_paths is deny",
		"/health":           "",
		"/health/":          "",
		"/.well-known/x.js": "",
	} {
		if got, _ := s.WhyAmbiguous(&request.Request{Path: path}); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// Under clean, limits and bans apply to either form of a path. Nothing lifts a
// limit from an ambiguous path, even if both of its forms match.
func TestCleanPaths(t *testing.T) {
	s := parse(t, `
ambiguous_paths: clean
deny: [{path: /banned/**}]
skip: [{path: /static/**}]
rules:
- {name: admin, when: {path: /admin/**}, unless: {path: /admin/open/**}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: dots, when: {path: "/x/*/admin"}, key: all, limits: [{capacity: 1, window: 60s}]}`)
	for _, tt := range []struct {
		path            string
		banned, skipped bool
		rules           string
	}{
		{"/x/../admin", false, false, "admin dots"}, // as cleaned, and as sent
		{"/x/%2e%2e/admin", false, false, "admin dots"},
		{"/x/y/../../banned", true, false, ""},
		{"/static/a", false, true, ""},
		{"/static/a//b", false, false, ""},
		{"/static/a;v=1", false, false, ""},
		{"/static/100%25", false, false, ""},
		{"/static/../admin", false, false, "admin"},
		{"/admin/open/a", false, false, ""},
		{"/admin/open/a//b", false, false, "admin"},
	} {
		req := requestTo(tt.path)
		if got := strings.Join(namesOf(s.Match(nil, &req)), " "); s.Ambiguous(&req) || s.Banned(&req) != tt.banned || s.Skipped(&req) != tt.skipped || got != tt.rules {
			t.Errorf("%s: denied %t, banned %t, skipped %t, rules %q; want %+v", tt.path, s.Ambiguous(&req), s.Banned(&req), s.Skipped(&req), got, tt)
		}
	}
}

// Whether a path is ambiguous does not depend on its length.
func TestAmbiguousAtAnyLength(t *testing.T) {
	s := parse(t, "rules: [{name: r, when: {path: /a}, key: all, limits: [{capacity: 1, window: 1s}]}]")
	for _, tt := range []struct {
		part      string
		long      int
		ambiguous bool
	}{
		{"/a", 100_000, false},
		{"/%61", 100_000, false},
		{"/a%20b", 10 << 10, false},
		{"/a//b", 100_000, true},
		{"/a%2Fb%20c", 10 << 10, true},
		{"/a;b=c", 10 << 10, true},
		{"/a/../b", 10 << 10, true},
		{"//x;a/..%3Bb%2F//../%2e%2e/y/", 300, true},
		{"//x;a/..%3Bb%2F//../%2e%2e/y/", 10 << 10, true},
		{"/a%2Fb/../c", 100_000, true},
		{"/a//b", 300_000, true},
	} {
		req := request.Request{Path: strings.Repeat(tt.part, tt.long/len(tt.part))}
		if got := s.Ambiguous(&req); got != tt.ambiguous || s.Banned(&req) {
			t.Errorf("%d bytes of %s: ambiguous %t, want %t", tt.long, tt.part, got, tt.ambiguous)
		}
	}
}
