package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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
		{"/**/x/**", "/a/b", true}, // not so: what is between is not looked at
		{"/v1/**/x", "/v1", false},
		{"/v1/**/**", "/v1", true},
		{"/a*", "/b*", false},
		{"/a*", "/*b", true},
		{"/a*c", "/abd", false},
		{"/a*c", "/ABC", true},
		{"/\u00e9", "/\u00e8", true}, // not so: letters outside ASCII are not looked at
		{"/{id}", "/*", true},
		{"/{id}", "/{name}", false},
	} {
		a, _ := parseGlob(tt.a)
		b, _ := parseGlob(tt.b)
		var o overlap
		if got := o.globs([]glob{a}, []glob{b}); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.a, tt.b, got, tt.want)
		}
		if got := o.globs([]glob{b}, []glob{a}); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.b, tt.a, got, tt.want)
		}
	}
}

// What tells requests apart besides their paths.
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
	} {
		rule := func(when string) *Rule { return parseRule(t, "key: k, when: "+when) }
		var o overlap
		if got := o.rules(rule(tt.a), rule(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.a, tt.b, got, tt.want)
		}
		if got := o.rules(rule(tt.b), rule(tt.a)); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.b, tt.a, got, tt.want)
		}
	}
}

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
	var o overlap
	found := 0
	for range 200_000 {
		a, _ := parseGlob(text("a", "ab", "*", "a*", "*b", "a*b", "**"))
		b, _ := parseGlob(text("A", "ab", "b", "*", "b*", "*a", "**"))
		p := text("a", "b", "ab", "aB", "ba", "aab")
		if !a.match(p, true) || !b.match(p, true) {
			continue
		}
		found++
		if o = (overlap{}); !o.globs([]glob{a}, []glob{b}) {
			t.Fatalf("seed %d: %s and %s both match %s", seed, a.text, b.text, p)
		}
	}
	if found < 1000 {
		t.Errorf("seed %d: %d pairs that overlap tried, want 1,000 at least", seed, found)
	}
}

// Rules with long lists of patterns are compared for a while, and then one warning says that there may be more to say: a
// document is read in seconds.
func TestOverlapIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "- {name: r%d, key: '{ip}', limits: [{algorithm: token_bucket, capacity: 1, window: 1s}], when: {route: [", i)
		for j := range 2000 {
			fmt.Fprintf(&b, "/%d/%d,", i, j)
		}
		b.WriteString("]}}\n")
	}
	s := parse(t, b.String()) // there is no overlap to find
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "rules[0].key: there are more routes and paths than are compared") {
		t.Errorf("got %q", s.Warnings)
	}
}
