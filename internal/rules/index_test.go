package rules

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// scan is what an index stands in for.
func scan(rules []*Rule, req *Request) (matches []*Rule) {
	for _, r := range rules {
		if r.Matches(req) {
			matches = append(matches, r)
		}
	}
	return matches
}

// asked is how many rules an index asks.
func asked(x *index, req *Request) (n int) {
	var found shortlist
	x.find(&found, req)
	for _, word := range found {
		n += bits.OnesCount64(word)
	}
	return n
}

// patternsOf are patterns, without those that are none.
func patternsOf(parse func(string) (glob, string), texts ...string) (globs []glob) {
	for _, text := range texts {
		if g, problem := parse(text); problem == "" {
			globs = append(globs, g)
		}
	}
	return globs
}

func ruleFor(i int, when selector) *Rule { return &Rule{Name: fmt.Sprint("r", i), when: when} }

func namesOf(rules []*Rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

// agree fails unless the index gives what a scan gives, after what is in the list already.
func agree(t interface{ Errorf(string, ...any) }, x *index, req *Request) {
	before := &Rule{Name: "before"}
	got, want := x.appendMatches([]*Rule{before}, req), append([]*Rule{before}, scan(x.rules, req)...)
	if !slices.Equal(got, want) {
		t.Errorf("%s %.200q on route %q, claims %v: %v, want %v", req.Method, req.Path, req.Route, req.Claims, namesOf(got), namesOf(want))
	}
}

func TestIndex(t *testing.T) {
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
	x := newIndex(s.Rules)
	for _, tt := range []struct{ method, path, route, want string }{
		{"GET", "/v1/items", "", "all items below"},
		{"GET", "/V1//Items/", "", "all items below"},
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
		req := Request{Method: tt.method, Path: tt.path, Route: tt.route}
		if got := strings.Join(namesOf(x.appendMatches(nil, &req)), " "); got != tt.want {
			t.Errorf("%s %q on route %q: %s, want %s", tt.method, tt.path, tt.route, got, tt.want)
		}
		agree(t, x, &req)
	}
}

// The rules of a document as large as they come are all found, and so are those beyond.
func TestIndexOfMany(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, maxIndexed - 1, maxIndexed, maxIndexed + 70} {
		var rules []*Rule
		for i := range n {
			rules = append(rules, ruleFor(i, selector{paths: patternsOf(parseGlob, fmt.Sprintf("/p%d", i%10), fmt.Sprintf("/q%d", i))}))
		}
		x := newIndex(rules)
		for _, path := range []string{"/p0", "/p3", "/q0", fmt.Sprintf("/q%d", n-1), "/none"} {
			agree(t, x, &Request{Path: path})
		}
	}
}

// An index is there to ask few rules, whatever it is that tells them apart.
func TestIndexAsksFew(t *testing.T) {
	const n = 1000
	each := func(when func(i int) selector) *index {
		rules := make([]*Rule, n)
		for i := range rules {
			rules[i] = ruleFor(i, when(i))
		}
		return newIndex(rules)
	}
	path := func(format string) func(int) []glob {
		return func(i int) []glob { return patternsOf(parseGlob, fmt.Sprintf(format, i)) }
	}
	tenant := func(i int) []condition {
		return []condition{{part{fromClaim, "tenant"}, []string{fmt.Sprint("t", i)}}}
	}
	everywhere, own, below, within := path("/**"), path("/v1/items%d"), path("/v1/items%d/**"), path("/v1/*/items%d")
	claims := map[string]any{"tenant": "t7"}
	for _, tt := range []struct {
		name string
		x    *index
		req  Request
		most int
	}{
		{"routes", each(func(i int) selector { return selector{routes: own(i)} }), Request{Path: "/v1/items7"}, 1},
		{"paths", each(func(i int) selector { return selector{paths: below(i)} }), Request{Path: "/v1/items7/x/y"}, 1},
		{"paths, a miss", each(func(i int) selector { return selector{paths: below(i)} }), Request{Path: "/v1/items/x"}, 0},
		{"stars", each(func(i int) selector { return selector{paths: within(i)} }), Request{Path: "/v1/x/items7"}, 1},
		{"templates", each(func(i int) selector { return selector{routes: path("/v1/items%d/{id}")(i)} }), Request{Path: "/", Route: "/v1/items7/{id}"}, 1},
		{"claims", each(func(i int) selector { return selector{match: tenant(i)} }), Request{Claims: claims}, 1},
		{"claims, a miss", each(func(i int) selector { return selector{match: tenant(i)} }), Request{}, 0},
		{"claims on one route", each(func(i int) selector { return selector{match: tenant(i), routes: path("/v1/**")(0)} }), Request{Path: "/v1/a", Claims: claims}, 1},
		{"routes for one claim", each(func(i int) selector { return selector{match: tenant(7), routes: own(i)} }), Request{Path: "/v1/items7", Claims: claims}, 1},
		{"paths on one route", each(func(i int) selector { return selector{routes: everywhere(i), paths: own(i)} }), Request{Path: "/v1/items7"}, 1},
		{"nothing tells them apart", each(func(i int) selector { return selector{paths: everywhere(i)} }), Request{Path: "/v1/items7"}, n},
	} {
		agree(t, tt.x, &tt.req)
		if got := asked(tt.x, &tt.req); got != tt.most {
			t.Errorf("%s: %d rules asked, want %d", tt.name, got, tt.most)
		}
	}
}

var (
	patternSegments = []string{"a", "b", "A", "ab", "k", "s", "\u212a", "\u017f", "é", "\xff", "{id}", "*", "a*", "*b", "**", "**"}
	pathSegments    = []string{"a", "b", "A", "ab", "K", "S", "\u212a", "\u017f", "É", "\xfe", "\ufffd", "{ID}", "x", "", "..", "%61", "a;x", "..;", ";", "b%3Bx", "a\\b", "x%5Cb", "a;%2Fb", strings.Repeat("k", maxPattern)}
	someClaims      = []any{nil, "x", "y", "x y", json.Number("1"), true, []any{"x", json.Number("1")}, map[string]any{"x": "y"}, []any{}}
)

func drawPatterns(t *rapid.T, parse func(string) (glob, string), label string) []glob {
	pattern := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(patternSegments), 0, 4).Draw(t, "pattern"), "/")
	})
	deep := rapid.Just("/" + strings.Repeat("a/", maxSteps) + "b")
	return patternsOf(parse, rapid.SliceOfN(rapid.OneOf(pattern, pattern, pattern, deep, rapid.Just("$connect")), 0, 3).Draw(t, label)...)
}

// drawWhen draws one with few fields, so that it covers something.
func drawWhen(t *rapid.T) (s selector) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "1", "true", "k7"}), 1, 3)
	part := rapid.SampledFrom([]part{{fromClaim, "plan"}, {fromClaim, "scope"}, {fromClaim, "/a/x"}, {fromAPIKey, ""}, {fromStage, ""}})
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		switch rapid.IntRange(0, 6).Draw(t, "field") {
		case 0:
			s.methods = []string{rapid.SampledFrom([]string{"GET", "KEY"}).Draw(t, "method")}
		case 1, 2:
			s.routes = drawPatterns(t, parseGlob, "routes")
		case 3, 4:
			s.paths = drawPatterns(t, parsePathGlob, "paths")
		case 5:
			s.callers = rapid.SampledFrom([]caller{known, anonymous | rejected}).Draw(t, "callers")
		case 6:
			s.match = append(s.match, condition{part.Draw(t, "part"), words.Draw(t, "words")})
		}
	}
	return s
}

func drawSent(t *rapid.T) *Request {
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pathSegments), 0, 5).Draw(t, "path"), "/")
	})
	deep := rapid.Map(rapid.IntRange(maxSteps-1, maxSteps+2), func(n int) string { return strings.Repeat("/a", n) + "/b" })
	route := rapid.OneOf(rapid.Just(""), path, rapid.SampledFrom([]string{"$connect", "$default", "GET /a", "/a/{id}", "/a/{proxy+}", "a//b", "", ""}))
	claim := rapid.SampledFrom(someClaims)
	req := &Request{
		Method: rapid.SampledFrom([]string{"GET", "get", "\u212aey"}).Draw(t, "method"),
		Path:   rapid.OneOf(path, path, path, deep).Draw(t, "path"),
		Route:  route.Draw(t, "route"),
		Stage:  rapid.SampledFrom([]string{"", "x"}).Draw(t, "stage"),
	}
	if rapid.Bool().Draw(t, "token") {
		req.Claims = map[string]any{"plan": claim.Draw(t, "plan"), "scope": claim.Draw(t, "scope"), "a": claim.Draw(t, "a")}
	}
	req.APIKey = rapid.SampledFrom([]string{"", "k7"}).Draw(t, "key")
	req.Rejected = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "rejected")
	return req
}

// The index may ask too many rules, never too few: what it gives is what a scan gives.
func TestIndexAgainstScan(t *testing.T) {
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
		x := newIndex(rules)
		for range 8 {
			req := drawSent(t)
			matched += len(scan(rules, req))
			agree(t, x, req)
		}
	})
	if matched < 500 {
		t.Errorf("%d matches tried, want 500 at least", matched)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("/a\n/A/**\n/*\n\n/a*/b\n/**/b", "/a/b", "")
	f.Add("/k\n/\u212a\n/s\u017f\n/é/\xff", "/K", "/\u017fS")
	f.Add("/v1/{id}\n/v1/*\n$connect", "/v1/{ID}", "GET /v1/{id}")
	f.Add(strings.Repeat("/a", maxSteps)+"\n"+strings.Repeat("/*", maxSteps+1), strings.Repeat("/A", maxSteps+1), "")
	f.Fuzz(func(t *testing.T, patterns, path, route string) {
		var rules []*Rule
		for i, text := range strings.Split(patterns, "\n") {
			g := patternsOf(parseGlob, text)
			rules = append(rules, ruleFor(3*i, selector{routes: g}), ruleFor(3*i+1, selector{paths: g}))
			if i > 0 { // two patterns in one rule, of which either will do
				before := rules[len(rules)-4].when.paths
				rules = append(rules, ruleFor(3*i+2, selector{paths: append(slices.Clone(before), g...), routes: before}))
			}
		}
		agree(t, newIndex(rules), &Request{Path: path, Route: route})
	})
}

// Stars in all places make many ways to go, though never more than the patterns have segments; and what a client makes
// long is not all looked at. Neither takes time to speak of.
func TestIndexDoesNotExplode(t *testing.T) {
	var rules []*Rule
	for i := range 4096 {
		pattern := ""
		for bit := range 12 {
			pattern += []string{"/a", "/*"}[i>>bit&1]
		}
		rules = append(rules, ruleFor(i, selector{paths: patternsOf(parseGlob, pattern, pattern+strings.Repeat("/*/a", 100)+"/**")}))
	}
	x := newIndex(rules)
	for _, path := range []string{
		strings.Repeat("/a", 12), strings.Repeat("/a", 11) + "/b", strings.Repeat("/b", 12),
		strings.Repeat("/a", 5000), strings.Repeat("/", 100000), strings.Repeat("/b", 50000),
		"/" + strings.Repeat("a", 1<<20), "/" + strings.Repeat("\u212a", 1<<18),
	} {
		agree(t, x, &Request{Path: path})
	}
}

// Texts that differ in letter case alone have one hash: all characters are tried, with all their cases.
func TestFoldedHash(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		text := "a" + string(r)
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if foldedHash(text) != foldedHash("A"+string(f)) {
				t.Errorf("%U and %U differ", r, f)
			}
		}
	}
	for _, same := range [][2]string{{"abcK", "ABC\u212a"}, {"s\u017fS", "\u017fsS"}, {"\xff", "\xfe"}, {"\xff", "\ufffd"}, {"é\xc3", "É\ufffd"}} {
		if !strings.EqualFold(same[0], same[1]) || foldedHash(same[0]) != foldedHash(same[1]) {
			t.Errorf("%q and %q are equal, and their hashes are not", same[0], same[1])
		}
	}
	hashes := map[uint64]string{}
	for i := range 10000 {
		text := fmt.Sprintf("items%d", i)
		if other, ok := hashes[foldedHash(text)]; ok {
			t.Errorf("%s and %s have one hash", text, other)
		}
		hashes[foldedHash(text)] = text
	}
}

// ownRoutes is a set of n rules with a route of their own each, and three that are for all.
func ownRoutes(n int) []*Rule {
	rules := []*Rule{ruleFor(n, selector{}), ruleFor(n+1, selector{methods: []string{"DELETE"}}), ruleFor(n+2, selector{routes: patternsOf(parseGlob, "/v1/**")})}
	for i := range n - len(rules) {
		pattern := fmt.Sprintf([]string{"/v1/items%d", "/v1/items%d/**", "/v1/items%d/{id}", "/v1/*/items%d"}[i%4], i)
		rules = append(rules, ruleFor(i, selector{methods: []string{"GET", "POST"}, routes: patternsOf(parseGlob, pattern)}))
	}
	return rules
}

func TestIndexAllocations(t *testing.T) {
	rules := ownRoutes(1000)
	for i := range 20 {
		rules = append(rules, ruleFor(i, selector{match: []condition{{part{fromClaim, "scope"}, []string{fmt.Sprint("s", i)}}}}))
	}
	x := newIndex(rules)
	buffer := make([]*Rule, 0, 8)
	sent := request("/v1/items41/x")
	sent.Claims = map[string]any{"scope": "openid s7 s8"}
	if n := testing.AllocsPerRun(100, func() {
		req := sent
		if buffer = x.appendMatches(buffer[:0], &req); len(buffer) != 5 {
			t.Fatalf("%d matches, want 5", len(buffer))
		}
	}); n != 0 {
		t.Errorf("matching allocates %v times", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		rules := ownRoutes(n)
		x := newIndex(rules)
		for _, tt := range []struct{ name, path string }{
			{"hit", "/v1/items5/x"}, {"miss", "/v2/nothing/x"}, {"deep", "/v1/items5" + strings.Repeat("/segment", 40)},
		} {
			sent := request(tt.path)
			name := fmt.Sprintf("rules=%d/%s", n, tt.name)
			buffer := make([]*Rule, 0, 8)
			b.Run(name+"/index", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := sent
					buffer = x.appendMatches(buffer[:0], &req)
				}
			})
			b.Run(name+"/scan", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := sent
					buffer = buffer[:0]
					for _, r := range rules {
						if r.Matches(&req) {
							buffer = append(buffer, r)
						}
					}
				}
			})
		}
	}
}

// BenchmarkMatchClaims has a rule for each of many tenants, on one route.
func BenchmarkMatchClaims(b *testing.B) {
	var rules []*Rule
	for i := range 1000 {
		rules = append(rules, ruleFor(i, selector{routes: patternsOf(parseGlob, "/v1/**"), match: []condition{{part{fromClaim, "tenant"}, []string{fmt.Sprint("t", i)}}}}))
	}
	x := newIndex(rules)
	sent := request("/v1/items5/x")
	sent.Claims = map[string]any{"tenant": "t7"}
	buffer := make([]*Rule, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		req := sent
		buffer = x.appendMatches(buffer[:0], &req)
	}
}

func BenchmarkNewIndex(b *testing.B) {
	rules := ownRoutes(1000)
	b.ReportAllocs()
	for b.Loop() {
		newIndex(rules)
	}
}
