package rules

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// mustPatterns reads patterns, which must be good.
func mustPatterns(texts ...string) (patterns []match.Pattern) {
	for _, text := range texts {
		g, wrong := match.ParseRoute(text)
		if wrong.Found() {
			panic(wrong.Reason())
		}
		patterns = append(patterns, g)
	}
	return patterns
}

func sourceOf(text string) key.Part {
	p, wrong := key.ParseSource(text)
	if wrong.Found() {
		panic(wrong.Reason())
	}
	return p
}

// claimsOf reads claims as a verifier of tokens does.
func claimsOf(t testing.TB, document string) (claims map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestWhy(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	plan := match.Condition{Part: sourceOf("jwt.plan"), Words: []string{"pro", "team"}}
	free, listed := claimsOf(t, `{"plan": "free"}`), claimsOf(t, `{"plan": ["free", 7]}`)
	preflight := request.Request{Method: "OPTIONS", Headers: map[string][]string{"origin": {"https://a.example"}, "access-control-request-method": {"PUT"}}}
	for _, test := range []struct {
		name string
		rule Rule
		req  request.Request
		want string // of a rule that covers the request: begins with +
	}{
		{"every request", Rule{}, request.Request{Method: "GET", Path: "/"}, "+"},
		{"off", Rule{Mode: Off}, request.Request{}, "it is off"},
		{"in shadow", Rule{Mode: Shadow}, request.Request{}, "+"},

		{"method", Rule{when: match.Selector{Methods: []string{"POST"}}}, request.Request{Method: "GET"}, "method GET is not among POST"},
		{"no method", Rule{when: match.Selector{Methods: []string{"POST", "PUT"}}}, request.Request{}, `method "" is not among POST, PUT`},
		{"method in another case", Rule{when: match.Selector{Methods: []string{"POST"}}}, request.Request{Method: "post"}, "+"},
		{"route", Rule{when: match.Selector{Routes: mustPatterns("/v2/**")}}, request.Request{Path: "/v1//x"}, "route /v1/x does not match /v2/**"},
		{"route's template", Rule{when: match.Selector{Routes: mustPatterns("/v2/*")}}, request.Request{Path: "/v2/x", Route: "GET /v1/{id}"}, "route /v1/{id} does not match /v2/*"},
		{"path", Rule{when: match.Selector{Paths: mustPatterns("/a", "/b")}}, request.Request{Path: "/c"}, "path /c does not match /a, /b"},
		{"a long list", Rule{when: match.Selector{Paths: mustPatterns("/a", "/b", "/c", "/d", "/e", "/f", "/g")}}, request.Request{Path: "/x"}, "path /x does not match /a, /b, /c, /d, /e and 2 more"},
		{"a path for terminals", Rule{when: match.Selector{Paths: mustPatterns("/a")}}, request.Request{Path: "/%1b[31m"}, `path "/\x1b[31m" does not match /a`},
		{"a long path", Rule{when: match.Selector{Paths: mustPatterns("/a")}}, request.Request{Path: "/" + strings.Repeat("x", 100)}, "path /" + strings.Repeat("x", 79) + "… does not match /a"},
		{"address", Rule{when: match.Selector{CIDRs: networks}}, request.Request{IP: netip.MustParseAddr("203.0.113.9")}, "address 203.0.113.9 is not in 198.51.100.0/24, 2001:db8::/32"},
		{"no address", Rule{when: match.Selector{CIDRs: networks}}, request.Request{}, "the address is not known"},
		{"caller", Rule{when: match.Selector{Callers: []string{request.Known}}}, request.Request{}, "caller is anonymous, not known"},
		{"callers", Rule{when: match.Selector{Callers: []string{request.Anonymous, request.Known}}}, request.Request{Rejected: true, APIKey: "k"}, "caller is rejected, not anonymous or known"},
		{"caller of a preflight", Rule{when: match.Selector{Callers: []string{request.Anonymous}}}, preflight, "caller is anonymous only because a CORS preflight has no credentials"},
		{"caller of a preflight by its method", Rule{when: match.Selector{Methods: []string{"OPTIONS"}, Callers: []string{request.Anonymous}}}, preflight, "+"},
		{"claim", Rule{when: match.Selector{Match: []match.Condition{plan}}}, request.Request{Claims: free}, "jwt.plan is free, not among pro, team"},
		{"claim that is a list", Rule{when: match.Selector{Match: []match.Condition{plan}}}, request.Request{Claims: listed}, `jwt.plan is ["free",7], not among pro, team`},
		{"no claim", Rule{when: match.Selector{Match: []match.Condition{plan}}}, request.Request{}, "jwt.plan is missing, not among pro, team"},
		{"the first that fails", Rule{when: match.Selector{Methods: []string{"PUT"}, Paths: mustPatterns("/a")}}, request.Request{Method: "GET"}, "method GET is not among PUT"},

		{"unless", Rule{unless: &match.Selector{Methods: []string{"GET"}, Routes: mustPatterns("/x", "/v1/hooks/**")}}, request.Request{Method: "GET", Path: "/v1/hooks/7"},
			"unless: method is GET, route /v1/hooks/7 matches /v1/hooks/**"},
		{"unless of another caller", Rule{unless: &match.Selector{Callers: []string{request.Known}}}, request.Request{}, "+"},
		{"unless, but for the form of the path", Rule{unless: &match.Selector{Paths: mustPatterns("/hooks/**")}}, request.Request{Path: "/hooks//7"},
			"+unless does not hold: path /hooks//7 is not sent in its clean form, /hooks/7"},
		{"unless, but for letter case", Rule{unless: &match.Selector{Paths: mustPatterns("/hooks/**")}}, request.Request{Path: "/Hooks/7"},
			"+unless does not hold: path /Hooks/7 does not match /hooks/**"},
		{"unless an address", Rule{unless: &match.Selector{CIDRs: networks}}, request.Request{IP: netip.MustParseAddr("2001:db8::7")}, "unless: address 2001:db8::7 is in 2001:db8::/32"},
		{"unless a claim", Rule{unless: &match.Selector{Match: []match.Condition{{Part: sourceOf("jwt.plan"), Words: []string{"free"}}}}}, request.Request{Claims: free}, "unless: jwt.plan is free"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, covered := test.rule.Why(&test.req)
			if covered {
				got = "+" + got
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestWhyBannedAndSkipped(t *testing.T) {
	s := &Set{
		deny: []match.Selector{{Methods: []string{"TRACE"}}, {CIDRs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}},
		skip: []match.Selector{{Methods: []string{"OPTIONS"}}, {Methods: []string{"GET"}, Routes: mustPatterns("/health")}},
	}
	s.precompute()
	for _, test := range []struct {
		req              request.Request
		banned, skipped  string
		isBanned, isSkip bool
	}{
		{request.Request{Method: "GET", Path: "/"}, "", "", false, false},
		{request.Request{Method: "Trace"}, "deny[0]: method is Trace", "", true, false},
		{request.Request{IP: netip.MustParseAddr("198.51.100.7")}, "deny[1]: address 198.51.100.7 is in 198.51.100.0/24", "", true, false},
		{request.Request{Method: "OPTIONS", Path: "//"}, "", "skip[0]: method is OPTIONS", false, true},
		{request.Request{Method: "GET", Path: "/health"}, "", "skip[1]: method is GET, route /health matches /health", false, true},
		{request.Request{Method: "GET", Path: "/health/"}, "", "skip[1] does not cover it: path /health/ is not sent in its clean form, /health", false, false},
		{request.Request{Method: "get", Path: "/health"}, "", "skip[1] does not cover it: method get is not among GET", false, false},
	} {
		if got, is := s.WhyBanned(&test.req); got != test.banned || is != test.isBanned {
			t.Errorf("%+v: banned %t, %q; want %q", test.req, is, got, test.banned)
		}
		if got, is := s.WhySkipped(&test.req); got != test.skipped || is != test.isSkip {
			t.Errorf("%+v: skipped %t, %q; want %q", test.req, is, got, test.skipped)
		}
	}
}

// Explanations agree with the decisions of rules, deny and skip.
func TestWhyAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Mode: rapid.SampledFrom([]Mode{Enforce, Shadow, Off}).Draw(t, "mode"), when: drawWhen(t)}
		if rapid.Bool().Draw(t, "has unless") {
			unless := drawWhen(t)
			r.unless = &unless
		}
		s := Set{deny: []match.Selector{drawWhen(t), drawWhen(t)}, skip: []match.Selector{drawWhen(t), drawWhen(t)}}
		s.precompute()
		req := drawSent(t)
		reason, covered := r.Why(req)
		if want := r.Matches(req); covered != want || !covered && reason == "" {
			t.Errorf("the rule covers it: %t, explained as %t, %q", want, covered, reason)
		}
		if reason, banned := s.WhyBanned(req); banned != s.Banned(req) || banned == (reason == "") {
			t.Errorf("banned: %t, explained as %t, %q", s.Banned(req), banned, reason)
		}
		if reason, skipped := s.WhySkipped(req); skipped != s.Skipped(req) || skipped && reason == "" {
			t.Errorf("skipped: %t, explained as %t, %q", s.Skipped(req), skipped, reason)
		}
	})
}
