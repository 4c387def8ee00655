package rules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// expectedMatches returns the rules that match a request. It uses regular
// expressions as patterns, so it is independent of Match.
func expectedMatches(rules []*Rule, req *request.Request) (matches []*Rule) {
	for _, r := range rules {
		if selects(&r.when, req) && (r.unless == nil || !selectsExactly(r.unless, req)) {
			matches = append(matches, r)
		}
	}
	return matches
}

func selects(s *match.Selector, req *request.Request) bool {
	onPath := func(patterns []match.Pattern) bool {
		before, found := urlpath.BeforeNumberSign(req.Path)
		return anyMatches(patterns, urlpath.Clean(req.Path), true) || anyMatches(patterns, urlpath.Decode(req.Path), true) ||
			found && anyMatches(patterns, before, true)
	}
	onRoute := onPath
	if template := req.Derived().Template; template != "" {
		onRoute = func(patterns []match.Pattern) bool { return anyMatches(patterns, template, true) }
	}
	hasMethod := len(s.Methods) == 0 || slices.ContainsFunc(s.Methods, func(m string) bool { return strings.EqualFold(m, req.Method) })
	return hasMethod && onRoute(s.Routes) && onPath(s.Paths) && hasOthers(s, req)
}

// hasOthers reports whether the fields other than methods, routes and paths match.
func hasOthers(s *match.Selector, req *request.Request) bool {
	others := *s
	others.Methods, others.Routes, others.Paths = nil, nil, nil
	return others.Covers(req)
}

func selectsExactly(s *match.Selector, req *request.Request) bool {
	clean := urlpath.Clean(req.Path)
	if len(s.Routes)+len(s.Paths) > 0 && req.Path != "" && (req.Path != clean || urlpath.Examine(req.Path).Ambiguous()) {
		return false
	}
	route := req.Derived().Template
	if route == "" {
		route = clean
	}
	return (len(s.Methods) == 0 || slices.Contains(s.Methods, req.Method)) && anyMatches(s.Routes, route, false) &&
		anyMatches(s.Paths, clean, false) && hasOthers(s, req)
}

// anyMatches reports whether a pattern matches a path, or there are none.
func anyMatches(patterns []match.Pattern, path string, fold bool) bool {
	text := "/"
	if path = strings.TrimRight(strings.TrimPrefix(path, "/"), "/"); path != "" {
		text += path + "/"
	}
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(g match.Pattern) bool {
		return patternRegexp(g.Text, fold).MatchString(characters(text, fold))
	})
}

// characters prepares a text for regular expressions, which treat every byte
// that is not UTF-8 as U+FFFD. Without fold, texts must match byte by byte.
func characters(text string, fold bool) string {
	if fold {
		return string([]rune(text))
	}
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

type regexpKey struct {
	pattern string
	fold    bool
}

var patternRegexps = map[regexpKey]*regexp.Regexp{}

// patternRegexp matches paths with a slash after every segment.
func patternRegexp(pattern string, fold bool) *regexp.Regexp {
	key := regexpKey{pattern, fold}
	if r := patternRegexps[key]; r != nil {
		return r
	}
	expr := "(?s)^/"
	if fold {
		expr = "(?is)^/"
	}
	if pattern = strings.TrimPrefix(pattern, "/"); pattern != "" {
		for segment := range strings.SplitSeq(pattern, "/") {
			if segment == "**" {
				expr += "([^/]*/)*"
				continue
			}
			expr += strings.ReplaceAll(regexp.QuoteMeta(characters(segment, fold)), `\*`, "[^/]*") + "/"
		}
	}
	patternRegexps[key] = regexp.MustCompile(expr + "$")
	return patternRegexps[key]
}

// setOf returns a set that matches these rules.
func setOf(rules []*Rule) *Set {
	s := &Set{Rules: rules}
	s.precompute()
	return s
}

// agree fails unless Match and expectedMatches find the same rules, and Match
// appends them.
func agree(t interface{ Errorf(string, ...any) }, rules []*Rule, req *request.Request) {
	before := &Rule{Name: "before"}
	s := setOf(rules)
	got, want := s.Match([]*Rule{before}, req), append([]*Rule{before}, expectedMatches(rules, req)...)
	if !slices.Equal(got, want) {
		t.Errorf("%s %.200q on route %q, claims %v: %v, want %v", req.Method, req.Path, req.Route, req.Claims, namesOf(got), namesOf(want))
	}
}

// patternsOf parses texts and leaves out those that are no patterns.
func patternsOf(parse func(string) (match.Pattern, problem.Fault), texts ...string) (patterns []match.Pattern) {
	for _, text := range texts {
		if g, wrong := parse(text); !wrong.Found() {
			patterns = append(patterns, g)
		}
	}
	return patterns
}

func ruleFor(i int, when match.Selector) *Rule { return &Rule{Name: fmt.Sprint("r", i), when: when} }

func namesOf(rules []*Rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

func TestMatch(t *testing.T) {
	s := parse(t, `
rules:
- {name: all, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: items, when: {route: [/v1/items, "/v1/items/*", "/v1/items/{id}"]}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: below, when: {path: /v1/**}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: posts, when: {methods: [POST], path: /v1/items}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: both, when: {route: "/v1/items/{id}", path: "/v1/*/7"}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: ends, when: {path: /**/export}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: affix, when: {path: "/v1/*.json"}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: root, when: {path: /}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: socket, when: {route: $connect}, key: all, limits: [{capacity: 1, window: 60s}]}
- {name: kelvin, when: {path: /kiss}, key: all, limits: [{capacity: 1, window: 60s}]}
`)
	for _, tt := range []struct{ method, path, route, want string }{
		{"GET", "/v1/items", "", "all items below"},
		{"GET", "/V1//Items/", "", "all items below"},
		{"post", "//v1/./y/../items", "", "all items below posts"},
		{"GET", "/%76%31/items", "", "all items below"},
		{"GET", "/%2576%2531/items", "", "all"}, // decoded once
		{"POST", "/v1/items", "", "all items below posts"},
		{"GET", "/v1/items/7", "", "all items below"},
		{"GET", "/v1/items/7", "GET /v1/items/{id}", "all items below both"},
		{"GET", "/v1/items/7", "$default", "all items below"},
		{"GET", "/v1/items/7", "/v1/{proxy+}", "all items below"},
		{"GET", "/v1/items/7/8", "", "all below"},
		{"GET", "/v1/items/8", "/v1/items/{id}", "all items below"},
		{"GET", "/v1", "", "all below"},
		{"GET", "/v2/a/export", "", "all ends"},
		{"GET", "/export", "", "all ends"},
		{"GET", "/v1/a.JSON", "", "all below affix"},
		{"GET", "/", "", "all root"},
		{"", "", "", "all root"},
		{"", "", "$connect", "all root socket"},
		{"GET", "/$connect", "", "all socket"},
		{"GET", "/\u212ai\u017fs", "", "all kelvin"},
		{"GET", "/KISS", "", "all kelvin"},
		{"GET", "/kis", "", "all"},
	} {
		req := request.Request{Method: tt.method, Path: tt.path, Route: tt.route}
		if got := strings.Join(namesOf(s.Match(nil, &req)), " "); got != tt.want {
			t.Errorf("%s %q on route %q: %s, want %s", tt.method, tt.path, tt.route, got, tt.want)
		}
		agree(t, s.Rules, &req)
	}
}

// deepSegments is more segments than most paths have.
const deepSegments = 16

var (
	patternSegments = []string{"a", "b", "A", "ab", "k", "s", "\u212a", "\u017f", "é", "\xff", "{id}", "*", "a*", "*b", "**", "**"}
	pathSegments    = []string{"a", "b", "A", "ab", "K", "S", "\u212a", "\u017f", "É", "\xfe", "\ufffd", "{ID}", "x", "", "..", "%61", "a;x", "..;", ";", "b%3Bx", "a\\b", "x%5Cb", "a;%2Fb", strings.Repeat("k", urlpath.MaxPattern)}
	someClaims      = []any{nil, "x", "y", "x y", json.Number("1"), true, []any{"x", json.Number("1")}, map[string]any{"x": "y"}, []any{}}
)

func drawPatterns(t *rapid.T, parse func(string) (match.Pattern, problem.Fault), label string) []match.Pattern {
	pattern := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(patternSegments), 0, 4).Draw(t, "pattern"), "/")
	})
	deep := rapid.Just("/" + strings.Repeat("a/", deepSegments) + "b")
	return patternsOf(parse, rapid.SliceOfN(rapid.OneOf(pattern, pattern, pattern, deep, rapid.Just("$connect")), 0, 3).Draw(t, label)...)
}

// drawWhen draws a selector of few fields, so that it matches some requests.
func drawWhen(t *rapid.T) (s match.Selector) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "1", "true", "k7"}), 1, 3)
	part := rapid.SampledFrom([]key.Part{{Kind: key.FromClaim, Text: "plan"}, {Kind: key.FromClaim, Text: "scope"}, {Kind: key.FromClaim, Text: "/a/x"}, {Kind: key.FromAPIKey, Text: ""}, {Kind: key.FromStage, Text: ""}})
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		switch rapid.IntRange(0, 7).Draw(t, "field") {
		case 0:
			s.Methods = []string{rapid.SampledFrom([]string{"GET", "KEY"}).Draw(t, "method")}
		case 1, 2:
			s.Routes = drawPatterns(t, match.ParseRoute, "routes")
		case 3, 4:
			s.Paths = drawPatterns(t, match.ParsePath, "paths")
		case 5:
			s.Callers = rapid.SampledFrom([][]string{{request.Known}, {request.Anonymous, request.Rejected}}).Draw(t, "callers")
		case 6:
			s.Match = append(s.Match, match.Condition{Part: part.Draw(t, "part"), Words: words.Draw(t, "words")})
		case 7:
			s.CIDRs = []netip.Prefix{netip.MustParsePrefix(rapid.SampledFrom([]string{"10.0.0.0/8", "::/0", "0.0.0.0/0"}).Draw(t, "cidr"))}
		}
	}
	return s
}

func drawSent(t *rapid.T) *request.Request {
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pathSegments), 0, 5).Draw(t, "path"), "/")
	})
	deep := rapid.Map(rapid.IntRange(deepSegments-1, deepSegments+2), func(n int) string { return strings.Repeat("/a", n) + "/b" })
	route := rapid.OneOf(rapid.Just(""), path, rapid.SampledFrom([]string{"$connect", "$default", "GET /a", "/a/{id}", "/a/{proxy+}", "a//b", "", ""}))
	claim := rapid.SampledFrom(someClaims)
	req := &request.Request{
		Method: rapid.SampledFrom([]string{"GET", "get", "\u212aey"}).Draw(t, "method"),
		Path:   rapid.OneOf(path, path, path, deep).Draw(t, "path"),
		Route:  route.Draw(t, "route"),
		Stage:  rapid.SampledFrom([]string{"", "x"}).Draw(t, "stage"),
	}
	if rapid.Bool().Draw(t, "token") {
		req.Claims = map[string]any{"plan": claim.Draw(t, "plan"), "scope": claim.Draw(t, "scope"), "a": claim.Draw(t, "a")}
	}
	req.APIKey = rapid.SampledFrom([]string{"", "k7"}).Draw(t, "key")
	req.IP, _ = netip.ParseAddr(rapid.SampledFrom([]string{"", "10.0.0.1", "203.0.113.9", "::ffff:10.0.0.1", "2001:db8::1"}).Draw(t, "ip"))
	req.Rejected = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "rejected")
	return req
}

// Match agrees with expectedMatches.
func TestMatchAgainstOracle(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		var rules []*Rule
		for i := range rapid.IntRange(0, 12).Draw(t, "rules") {
			r := ruleFor(i, drawWhen(t))
			if rapid.IntRange(0, 3).Draw(t, "with unless") == 0 {
				s := drawWhen(t)
				r.unless = &s
			}
			rules = append(rules, r)
		}
		for range 8 {
			req := drawSent(t)
			matched += len(expectedMatches(rules, req))
			agree(t, rules, req)
		}
	})
	if matched < 500 {
		t.Errorf("%d matches tried, want 500 at least", matched)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a\n/A/**\n/*\n\n/a*/b\n/**/b", "/a/b", "")
	f.Add("/k\n/\u212a\n/s\u017f\n/é/\xff", "/K", "/\u017fS")
	f.Add("/v1/{id}\n/v1/*\n$connect", "/v1/{ID}", "GET /v1/{id}")
	f.Add(strings.Repeat("/a", deepSegments)+"\n"+strings.Repeat("/*", deepSegments+1), strings.Repeat("/A", deepSegments+1), "")
	f.Fuzz(func(t *testing.T, patterns, path, route string) {
		var rules []*Rule
		for i, text := range strings.Split(patterns, "\n") {
			g := patternsOf(match.ParseRoute, text)
			rules = append(rules, ruleFor(3*i, match.Selector{Routes: g}), ruleFor(3*i+1, match.Selector{Paths: g}))
			if i > 0 { // two patterns in one rule, of which one must match
				before := rules[len(rules)-4].when.Paths
				rules = append(rules, ruleFor(3*i+2, match.Selector{Paths: append(slices.Clone(before), g...), Routes: before}))
			}
		}
		agree(t, rules, &request.Request{Path: path, Route: route})
	})
}

// Patterns with many stars and paths of a megabyte are matched quickly.
func TestMatchDoesNotExplode(t *testing.T) {
	const bits, n = 12, 1 << 12
	s := Set{}
	for i := range n {
		pattern := ""
		for bit := range bits {
			pattern += []string{"/a", "/*"}[i>>bit&1]
		}
		s.Rules = append(s.Rules, ruleFor(i, match.Selector{Paths: patternsOf(match.ParseRoute, pattern, pattern+strings.Repeat("/*/a", 100)+"/**")}))
	}
	s.precompute()
	for _, tt := range []struct {
		path string
		want int
	}{
		{strings.Repeat("/a", bits), n},
		{strings.Repeat("/a", bits-1) + "/b", n / 2}, // those with a star at the end
		{strings.Repeat("/b", bits), 1},
		{strings.Repeat("/a", 5000), n},
		{strings.Repeat("/", 100000), 0},
		{strings.Repeat("/b", 50000), 0},
		{"/" + strings.Repeat("a", 1<<20), 0},
		{"/" + strings.Repeat("\u212a", 1<<18), 0},
	} {
		if got := len(s.Match(nil, &request.Request{Path: tt.path})); got != tt.want {
			t.Errorf("%d bytes of %.10q: %d rules, want %d", len(tt.path), tt.path, got, tt.want)
		}
	}
}
