package rules

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// globsOf reads patterns, which must be good.
func globsOf(texts ...string) (globs []glob) {
	for _, text := range texts {
		g, problem := parseGlob(text)
		if problem != "" {
			panic(problem)
		}
		globs = append(globs, g)
	}
	return globs
}

func sourceOf(text string) part {
	p, _, problem := parseSource(text)
	if problem != "" {
		panic(problem)
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
	plan := condition{sourceOf("jwt.plan"), []string{"pro", "team"}}
	free, listed := claimsOf(t, `{"plan": "free"}`), claimsOf(t, `{"plan": ["free", 7]}`)
	for _, test := range []struct {
		name string
		rule Rule
		req  Request
		want string // of a rule that covers the request: begins with +
	}{
		{"every request", Rule{}, Request{Method: "GET", Path: "/"}, "+"},
		{"off", Rule{Mode: Off}, Request{}, "it is off"},
		{"on trial", Rule{Mode: Shadow}, Request{}, "+"},

		{"method", Rule{when: selector{methods: []string{"POST"}}}, Request{Method: "GET"}, "method GET is not among POST"},
		{"no method", Rule{when: selector{methods: []string{"POST", "PUT"}}}, Request{}, `method "" is not among POST, PUT`},
		{"method in another case", Rule{when: selector{methods: []string{"POST"}}}, Request{Method: "post"}, "+"},
		{"route", Rule{when: selector{routes: globsOf("/v2/**")}}, Request{Path: "/v1//x"}, "route /v1/x does not match /v2/**"},
		{"route's template", Rule{when: selector{routes: globsOf("/v2/*")}}, Request{Path: "/v2/x", Route: "GET /v1/{id}"}, "route /v1/{id} does not match /v2/*"},
		{"path", Rule{when: selector{paths: globsOf("/a", "/b")}}, Request{Path: "/c"}, "path /c does not match /a, /b"},
		{"a long list", Rule{when: selector{paths: globsOf("/a", "/b", "/c", "/d", "/e", "/f", "/g")}}, Request{Path: "/x"}, "path /x does not match /a, /b, /c, /d, /e and 2 more"},
		{"a path for terminals", Rule{when: selector{paths: globsOf("/a")}}, Request{Path: "/%1b[31m"}, `path "/\x1b[31m" does not match /a`},
		{"a long path", Rule{when: selector{paths: globsOf("/a")}}, Request{Path: "/" + strings.Repeat("x", 100)}, "path /" + strings.Repeat("x", 79) + "… does not match /a"},
		{"address", Rule{when: selector{cidrs: networks}}, Request{IP: netip.MustParseAddr("203.0.113.9")}, "address 203.0.113.9 is not in 198.51.100.0/24, 2001:db8::/32"},
		{"no address", Rule{when: selector{cidrs: networks}}, Request{}, "the address is not known"},
		{"caller", Rule{when: selector{callers: known}}, Request{}, "caller is anonymous, not known"},
		{"callers", Rule{when: selector{callers: known | anonymous}}, Request{Rejected: true, APIKey: "k"}, "caller is rejected, not anonymous or known"},
		{"claim", Rule{when: selector{match: []condition{plan}}}, Request{Claims: free}, "jwt.plan is free, not among pro, team"},
		{"claim that is a list", Rule{when: selector{match: []condition{plan}}}, Request{Claims: listed}, `jwt.plan is ["free",7], not among pro, team`},
		{"no claim", Rule{when: selector{match: []condition{plan}}}, Request{}, "jwt.plan is missing, not among pro, team"},
		{"the first that fails", Rule{when: selector{methods: []string{"PUT"}, paths: globsOf("/a")}}, Request{Method: "GET"}, "method GET is not among PUT"},

		{"unless", Rule{unless: &selector{methods: []string{"GET"}, routes: globsOf("/x", "/v1/hooks/**")}}, Request{Method: "GET", Path: "/v1/hooks/7"},
			"unless: method is GET, route /v1/hooks/7 matches /v1/hooks/**"},
		{"unless of somebody else", Rule{unless: &selector{callers: known}}, Request{}, "+"},
		{"unless, but for the path's spelling", Rule{unless: &selector{paths: globsOf("/hooks/**")}}, Request{Path: "/hooks//7"},
			"+unless does not hold: path /hooks//7 is not sent in its clean form, /hooks/7"},
		{"unless, but for letter case", Rule{unless: &selector{paths: globsOf("/hooks/**")}}, Request{Path: "/Hooks/7"},
			"+unless does not hold: path /Hooks/7 does not match /hooks/**"},
		{"unless an address", Rule{unless: &selector{cidrs: networks}}, Request{IP: netip.MustParseAddr("2001:db8::7")}, "unless: address 2001:db8::7 is in 2001:db8::/32"},
		{"unless a claim", Rule{unless: &selector{match: []condition{{sourceOf("jwt.plan"), []string{"free"}}}}}, Request{Claims: free}, "unless: jwt.plan is free"},
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
		deny: []selector{{methods: []string{"TRACE"}}, {cidrs: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}},
		skip: []selector{{methods: []string{"OPTIONS"}}, {methods: []string{"GET"}, routes: globsOf("/health")}},
	}
	s.precompute()
	for _, test := range []struct {
		req              Request
		banned, skipped  string
		isBanned, isSkip bool
	}{
		{Request{Method: "GET", Path: "/"}, "", "", false, false},
		{Request{Method: "Trace"}, "deny[0]: method is Trace", "", true, false},
		{Request{IP: netip.MustParseAddr("198.51.100.7")}, "deny[1]: address 198.51.100.7 is in 198.51.100.0/24", "", true, false},
		{Request{Method: "OPTIONS", Path: "//"}, "", "skip[0]: method is OPTIONS", false, true},
		{Request{Method: "GET", Path: "/health"}, "", "skip[1]: method is GET, route /health matches /health", false, true},
		{Request{Method: "GET", Path: "/health/"}, "", "skip[1] does not cover it: path /health/ is not sent in its clean form, /health", false, false},
		{Request{Method: "get", Path: "/health"}, "", "skip[1] does not cover it: method get is not among GET", false, false},
	} {
		if got, is := s.WhyBanned(&test.req); got != test.banned || is != test.isBanned {
			t.Errorf("%+v: banned %t, %q; want %q", test.req, is, got, test.banned)
		}
		if got, is := s.WhySkipped(&test.req); got != test.skipped || is != test.isSkip {
			t.Errorf("%+v: skipped %t, %q; want %q", test.req, is, got, test.skipped)
		}
	}
}

// TestWhyAgrees holds the words to the deeds: whatever a rule, a deny or a skip says of a request, the explanation says too.
func TestWhyAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Mode: rapid.SampledFrom([]Mode{Enforce, Shadow, Off}).Draw(t, "mode"), when: drawSelector(t)}
		if rapid.Bool().Draw(t, "has unless") {
			unless := drawSelector(t)
			r.unless = &unless
		}
		s := Set{deny: []selector{drawSelector(t), drawSelector(t)}, skip: []selector{drawSelector(t), drawSelector(t)}}
		s.precompute()
		req := drawRequest(t)
		reason, covered := r.Why(&req)
		if want := r.Matches(&req); covered != want || !covered && reason == "" {
			t.Errorf("the rule covers it: %t, in words %t, %q", want, covered, reason)
		}
		if reason, banned := s.WhyBanned(&req); banned != s.Banned(&req) || banned == (reason == "") {
			t.Errorf("banned: %t, in words %t, %q", s.Banned(&req), banned, reason)
		}
		if reason, skipped := s.WhySkipped(&req); skipped != s.Skipped(&req) || skipped && reason == "" {
			t.Errorf("skipped: %t, in words %t, %q", s.Skipped(&req), skipped, reason)
		}
	})
}

// drawSelector draws a selector of few fields and few values, so that requests often meet it.
func drawSelector(t *rapid.T) (s selector) {
	some := func(what string) bool { return rapid.IntRange(0, 2).Draw(t, what) == 0 }
	if some("methods") {
		s.methods = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"GET", "POST", "PUT"}), 1, 2, rapid.ID).Draw(t, "method")
	}
	pattern := rapid.Custom(func(t *rapid.T) glob {
		return globsOf(rapid.SampledFrom([]string{"/", "/v1/**", "/v1/*", "/v1/{id}", "/V1/x", "$connect"}).Draw(t, "pattern"))[0]
	})
	if some("routes") {
		s.routes = rapid.SliceOfN(pattern, 1, 2).Draw(t, "route")
	}
	if some("paths") {
		s.paths = rapid.SliceOfN(pattern, 1, 2).Draw(t, "path")
	}
	if some("cidrs") {
		s.cidrs = []netip.Prefix{netip.MustParsePrefix(rapid.SampledFrom([]string{"10.0.0.0/8", "::/0", "0.0.0.0/0"}).Draw(t, "cidr"))}
	}
	if some("callers") {
		s.callers = rapid.SampledFrom([]caller{anonymous, known, rejected, known | rejected}).Draw(t, "caller")
	}
	if some("match") {
		source := sourceOf(rapid.SampledFrom([]string{"jwt.plan", "jwt./a/b", "jwt.scope", "apikey", "stage"}).Draw(t, "source"))
		s.match = []condition{{source, rapid.SliceOfN(rapid.SampledFrom([]string{"pro", "7", "prod"}), 1, 2).Draw(t, "words")}}
	}
	return s
}

func drawRequest(t *rapid.T) Request {
	claims := map[string]any{
		"": nil, "pro": map[string]any{"plan": "pro", "scope": "x pro"}, "list": map[string]any{"plan": []any{"x", json.Number("7")}},
		"nested": map[string]any{"a": map[string]any{"b": json.Number("7")}}, "empty": map[string]any{},
	}
	held, _ := claims[rapid.SampledFrom([]string{"", "pro", "list", "nested", "empty"}).Draw(t, "claims")].(map[string]any)
	address, _ := netip.ParseAddr(rapid.SampledFrom([]string{"", "10.0.0.1", "203.0.113.9", "::ffff:10.0.0.1", "2001:db8::1"}).Draw(t, "ip"))
	return Request{
		Method:   rapid.SampledFrom([]string{"GET", "get", "POST", ""}).Draw(t, "method"),
		Path:     rapid.SampledFrom([]string{"", "/", "/v1/x", "/V1/x", "/v1//x", "/v1/x/", "/%76%31/x", "/v1/x/y"}).Draw(t, "path"),
		Route:    rapid.SampledFrom([]string{"", "$default", "$connect", "GET /v1/{id}", "/v1/{proxy+}"}).Draw(t, "route"),
		Stage:    rapid.SampledFrom([]string{"", "prod"}).Draw(t, "stage"),
		APIKey:   rapid.SampledFrom([]string{"", "pro", "k"}).Draw(t, "apikey"),
		IP:       address,
		Claims:   held,
		Rejected: rapid.IntRange(0, 3).Draw(t, "rejected") == 0,
	}
}
