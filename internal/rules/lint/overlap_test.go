package lint

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
)

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"/", "/", true},
		{"/", "/**", true},
		{"/", "/*", false},
		{"/v1/items", "/v1/items", true},
		{"/v1/items", "/V1/Items", true},
		{"/v1/items", "/v1/users", false},
		{"/v1/items", "/v1", false},
		{"/v1/*", "/v1/items", true},
		{"/v1/*", "/v1/items/7", false},
		{"/v1/*", "/*/items", true},
		{"/v1/*/orders", "/v1/*/items", false},
		{"/v1/**", "/v1", true},
		{"/v1/**", "/v1/a/b/c", true},
		{"/v1/**", "/v2/**", false},
		{"/v1/**", "/**/x", true},
		{"/**/x", "/**/y", false},
		{"/**/x/**", "/a/b", true}, // a false positive: segments between are not compared
		{"/v1/**/x", "/v1", false},
		{"/v1/**/**", "/v1", true},
		{"/a*", "/b*", false},
		{"/a*", "/*b", true},
		{"/a*c", "/abd", false},
		{"/a*c", "/ABC", true},
		{"/\u00e9", "/\u00e8", true}, // a false positive: letters outside ASCII are not compared
		{"/{id}", "/*", true},
		{"/{id}", "/{name}", false},
		{"$connect", "$connect", true}, // routes of a WebSocket API
		{"$connect", "$disconnect", false},
	} {
		if there, back := overlaps(tt.a, tt.b), overlaps(tt.b, tt.a); there != tt.want || back != tt.want {
			t.Errorf("%s and %s: %t and %t, want %t", tt.a, tt.b, there, back, tt.want)
		}
	}
}

// Selectors may also differ in other fields than paths.
func TestOverlapOfSelectors(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"{methods: GET}", "{methods: [PUT, GET]}", true},
		{"{methods: GET}", "{methods: PUT}", false},
		{"{caller: known}", "{caller: [known, rejected]}", true},
		{"{caller: known}", "{caller: [anonymous, rejected]}", false},
		{"{caller: known}", "{methods: GET}", true},
		{"{cidrs: 10.0.0.0/8}", "{cidrs: [11.0.0.0/8, 10.1.0.0/16]}", true},
		{"{cidrs: 10.0.0.0/8}", "{cidrs: [11.0.0.0/8, '2001:db8::/32']}", false},
		{"{match: {stage: prod}}", "{match: {stage: [test, prod]}}", true},
		{"{match: {stage: prod}}", "{match: {stage: test}}", false},
		{"{match: {apikey: a}}", "{match: {apikey: b}}", false},
		{"{match: {apikey: a}}", "{match: {stage: b}}", true},
		{"{match: {jwt.role: a}}", "{match: {jwt.role: b}}", true}, // a token may hold both
		{"{match: {graphql.fields: a}}", "{match: {graphql.fields: b}}", true},
		{"{match: {graphql.type: query}}", "{match: {graphql.type: mutation}}", false},
	} {
		a, b := selected(t, tt.a), selected(t, tt.b)
		var o overlap
		if there, back := o.selectors(a, b), o.selectors(b, a); there != tt.want || back != tt.want {
			t.Errorf("%s and %s: %t and %t, want %t", tt.a, tt.b, there, back, tt.want)
		}
	}
}

// selected compiles a selector.
func selected(t *testing.T, text string) *match.Selector {
	t.Helper()
	when := &ruledoc.Selector{}
	if _, err := yamlfile.Decode("f", []byte(text), when); err != nil {
		t.Fatal(err)
	}
	limit := &ruledoc.Limit{Capacity: 1, Window: "1s"}
	set, problems := rules.Compile(&ruledoc.Document{Rules: []ruledoc.Rule{{Name: "r", Key: "k", Limit: limit, When: when}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set.Rules[0].When()
}

// overlaps reports whether two patterns of routes overlap.
func overlaps(a, b string) bool {
	p, _ := match.ParseRoute(a)
	q, _ := match.ParseRoute(b)
	return overlapPatterns(p, q)
}

// matcher returns the meaning of a pattern for paths without the slash at their
// end. Letter case does not count.
var matcher = func() func(pattern string) *regexp.Regexp {
	known := map[string]*regexp.Regexp{}
	return func(pattern string) *regexp.Regexp {
		if known[pattern] == nil {
			expr := strings.NewReplacer("/**", "(/[^/]+)*", "/*/", "/[^/]+/", "*", "[^/]*").Replace(strings.TrimSuffix(pattern, "/") + "/")
			known[pattern] = regexp.MustCompile("(?i)^" + strings.TrimSuffix(expr, "/") + "$")
		}
		return known[pattern]
	}
}()

// A path that two patterns match is proof that they overlap: none may be missed.
func TestOverlapMissesNothing(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	text := func(segments ...string) string {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString("/" + segments[random.IntN(len(segments))])
		}
		return max("/", b.String())
	}
	found := 0
	for range 200_000 {
		a := text("a", "ab", "*", "a*", "*b", "a*b", "**")
		b := text("A", "ab", "b", "*", "b*", "*a", "**")
		p := strings.TrimSuffix(text("a", "b", "ab", "aB", "ba", "aab"), "/")
		if !matcher(a).MatchString(p) || !matcher(b).MatchString(p) {
			continue
		}
		found++
		if !overlaps(a, b) {
			t.Fatalf("seed %d: %s and %s both match %s", seed, a, b, p)
		}
	}
	if found < 1000 {
		t.Errorf("seed %d: %d pairs that overlap tried, want 1,000 at least", seed, found)
	}
}
