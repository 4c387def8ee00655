package rules

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"/", "/", true},
		{"/", "/a", false},
		{"/a", "/a", true},
		{"/a", "/", false},
		{"/a", "/a/b", false},
		{"/a/b", "/a", false},
		{"/a", "/ab", false},
		{"/*", "/a", true},
		{"/*", "/", false},
		{"/*", "/a/b", false},
		{"/a/*/c", "/a/b/c", true},
		{"/a/*/c", "/a/c", false},
		{"/a/*/c", "/a/b/b/c", false},
		{"/v*", "/v1", true},
		{"/v*", "/v", true},
		{"/v*", "/w", false},
		{"/v*/x", "/v1/2/x", false},
		{"/*.json", "/a.json", true},
		{"/*.json", "/.json", true},
		{"/*.json", "/a.json.gz", false},
		{"/a*b*c", "/aXbXbc", true},
		{"/a*b*c", "/abXcX", false},
		{"/a*a", "/a", false},
		{"/**", "/", true},
		{"/**", "/a", true},
		{"/**", "/a/b/c", true},
		{"/v1/**", "/v1", true},
		{"/v1/**", "/v1/a/b", true},
		{"/v1/**", "/v12", false},
		{"/v1/**", "/v2/v1/a", false},
		{"/**/x", "/x", true},
		{"/**/x", "/a/b/x", true},
		{"/**/x", "/a/x/b", false},
		{"/**/x/**", "/a/x/b", true},
		{"/a/**/b/**/c", "/a/b/c", true},
		{"/a/**/b/**/c", "/a/1/b/2/b/c", true},
		{"/a/**/b/**/c", "/a/1/c/2/b", false},
		{"/**/*/x", "/x", false},
		{"/**/*/x", "/a/x", true},
		{"/**/a/b", "/a/a/b", true}, // the first try takes the wrong a
		{"/users/{id}", "/users/{id}", true},
		{"/users/{id}", "/users/42", false},
		{"/users/*", "/users/{id}", true},
		{"/a.b", "/axb", false},
		{"/a?", "/ab", false},
		{"/[ab]", "/a", false},
		{"/é*", "/éa", true},
		{"/*é", "/\xc3\xa9", true},
		{"/*\ufffd", "/a\xff", false}, // a byte that is no UTF-8 is itself alone
		{"$connect", "$connect", true},
		{"/**", "$connect", true},
		{"/x", "/x/", true}, // a template may end in a slash
	} {
		g, problem := parseGlob(tt.pattern)
		if problem != "" {
			t.Errorf("pattern %q: %s", tt.pattern, problem)
			continue
		}
		if got := g.match(tt.path, false); got != tt.want {
			t.Errorf("%q covers %q: %t, want %t", tt.pattern, tt.path, got, tt.want)
		}
		if got := g.match(tt.path, true); tt.want && !got {
			t.Errorf("%q covers %q exactly but not when case is ignored", tt.pattern, tt.path)
		}
	}
}

func TestGlobCase(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"/v1/Items", "/V1/iTEMS", true},
		{"/v1/*s", "/V1/ITEMS", true},
		{"/CAFÉ", "/café", true},
		{"/*É*", "/café!", true},
		{"/k", "/\u212a", true}, // the Kelvin sign is a k too
		{"/*k", "/a\u212a", true},
		{"/a", "/b", false},
	} {
		g, _ := parseGlob(tt.pattern)
		if got := g.match(tt.path, true); got != tt.want {
			t.Errorf("%q covers %q: %t, want %t", tt.pattern, tt.path, got, tt.want)
		}
		if g.match(tt.path, false) {
			t.Errorf("%q covers %q though case counts", tt.pattern, tt.path)
		}
	}
}

func TestParseGlob(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{"", "a pattern begins with a slash: write /"},
		{"v1", "a pattern begins with a slash: write /v1"},
		{"**", "a pattern begins with a slash: write /**"},
		{"$x/y", "a pattern begins with a slash: write /$x/y"},
		{"GET /v1", "write /v1 here and GET under methods"},
		{"/v1/", "paths are cleaned before they are matched, so nothing has this form: write /v1"},
		{"/a/../b", "paths are cleaned before they are matched, so nothing has this form: write /b"},
		{"/a%20b", "paths are decoded before they are matched: write /a b"},
		{"/a/**b", "** stands alone between slashes: write * in place of ** in \"**b\", or /** after it"},
		{"/a***", "** stands alone between slashes: write * in place of ** in \"a***\", or /** after it"},
		{"$default", "requests on a catch-all route are matched by their path: write /**"},
		{"/{proxy+}", "requests on a catch-all route are matched by their path: write /**"},
		{"/v1/{proxy+}", "requests on a catch-all route are matched by their path: write /v1/**"},
		{"/" + strings.Repeat("a", 512), "a pattern is at most 512 bytes long"},
		{"/" + strings.Repeat("a", 511), ""},
		{"/100%", ""},
		{"/{id}", ""},
		{"$connect", ""},
	} {
		if _, got := parseGlob(tt.pattern); got != tt.want {
			t.Errorf("pattern %.40q: %q, want %q", tt.pattern, got, tt.want)
		}
	}
	if _, got := parsePathGlob("/users/{id}/x"); got != "a path has no template parameters: write * in place of {id}, or match on route" {
		t.Errorf("a parameter in a path pattern: %q", got)
	}
}

// The matcher walks and goes back; a regular expression of the same meaning must agree with it everywhere.
func TestGlobAgainstRegexp(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "b", "A", "aa", "ab", "*", "a*", "*a", "*a*b", "**", "**"})
	piece := rapid.SampledFrom([]string{"a", "b", "A", "aa", "ab", "aab", "ba", "*"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := "/" + strings.Join(rapid.SliceOfN(segment, 1, 6).Draw(t, "pattern"), "/")
		path := "/" + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "path"), "/")
		fold := rapid.Bool().Draw(t, "fold")
		g, problem := parseGlob(pattern)
		if problem != "" {
			t.Fatalf("pattern %q: %s", pattern, problem)
		}
		if got, want := g.match(path, fold), globRegexp(pattern, fold).MatchString(strings.TrimSuffix(path, "/")+"/"); got != want {
			t.Errorf("%q covers %q: %t, want %t", pattern, path, got, want)
		}
	})
}

// globRegexp matches paths with a slash after every segment.
func globRegexp(pattern string, fold bool) *regexp.Regexp {
	expr := "^/"
	if fold {
		expr = "(?i)^/"
	}
	for segment := range strings.SplitSeq(pattern[1:], "/") {
		if segment == "**" {
			expr += "([^/]+/)*"
			continue
		}
		expr += strings.ReplaceAll(regexp.QuoteMeta(segment), `\*`, "[^/]*") + "/"
	}
	return regexp.MustCompile(expr + "$")
}

// A pattern made to send the matcher back and forth takes time in proportion to the product of the lengths, no more.
func TestGlobDoesNotExplode(t *testing.T) {
	g, problem := parseGlob(strings.Repeat("/**/a", 80) + "/b")
	if problem != "" {
		t.Fatal(problem)
	}
	if g.match(strings.Repeat("/a", 4000), true) {
		t.Error("matched a path without b")
	}
	g, _ = parseGlob("/" + strings.Repeat("*a", 200) + "b")
	if g.match("/"+strings.Repeat("a", 4000), true) {
		t.Error("matched a segment without b")
	}
}
