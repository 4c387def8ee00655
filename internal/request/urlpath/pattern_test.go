package urlpath

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// patternOf reads a pattern, which must be good.
func patternOf(t rapid.TB, text string) Pattern {
	t.Helper()
	p, wrong := Parse(text)
	if wrong.Found() {
		t.Fatal(wrong.Reason())
	}
	return p
}

func matches(p *Pattern, path string, fold bool) bool {
	text := NewText(path)
	if fold {
		return p.Match(&text)
	}
	return p.MatchExactly(&text)
}

// TestPattern has what TestPatternAgainstRegexp does not draw, and edges.
func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"/", "/", true},
		{"/", "/a", false},
		{"/a", "/a/b", false},
		{"/*", "/", false},
		{"/*", "/a/b", false},
		{"/a/*/c", "/a/b/b/c", false},
		{"/v*", "/v", true},
		{"/v*/x", "/v1/2/x", false},
		{"/*.json", "/.json", true},
		{"/*.json", "/a.json.gz", false},
		{"/a*b*c", "/aXbXbc", true},
		{"/a*b*c", "/abXcX", false},
		{"/a*a", "/a", false},
		{"/**", "/", true},
		{"/v1/**", "/v1", true},
		{"/v1/**", "/v12", false},
		{"/**/x", "/x", true},
		{"/**/x", "/a/b/x", true},
		{"/**/x", "/a/x/b", false},
		{"/**/x/**", "/x", true},
		{"/a/**/b/**/c", "/a/1/b/2/b/c", true},
		{"/a/**/b/**/c", "/a/1/c/2/b", false},
		{"/**/*/x", "/x", false},
		{"/**/*", "/", false},
		{"/**/a/b", "/a/a/b", true}, // the first a is not the right one
		{"/users/{id}", "/users/{id}", true},
		{"/users/{id}", "/users/42", false},
		{"/a.b", "/axb", false},
		{"/a?", "/ab", false},
		{"/[ab]", "/a", false},
		{"/é*", "/éa", true},
		{"/*é", "/\xc3\xa9", true},
		{"/*\ufffd", "/a\xff", false}, // a byte that is no UTF-8 is itself alone
		{"/$connect", "$connect", true},
		{"/**", "$connect", true},
		{"/x", "/x/", true}, // a route's template may end in a slash
		{"/a/*", "/a//", false},
		{"/a/*/b", "/a//b", true},
	} {
		p := patternOf(t, tt.pattern)
		if got := matches(&p, tt.path, false); got != tt.want {
			t.Errorf("%q matches %q: %t, want %t", tt.pattern, tt.path, got, tt.want)
		}
		if got := matches(&p, tt.path, true); tt.want && !got {
			t.Errorf("%q matches %q exactly but not when case is ignored", tt.pattern, tt.path)
		}
	}
}

func TestPatternCase(t *testing.T) {
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
		{"/\u212a\u017f", "/Ks", true},
		{"/i", "/\u0130", false}, // no simple folding, though its small letter is i
		{"/a", "/b", false},
	} {
		p := patternOf(t, tt.pattern)
		if got := matches(&p, tt.path, true); got != tt.want {
			t.Errorf("%q matches %q: %t, want %t", tt.pattern, tt.path, got, tt.want)
		}
		if matches(&p, tt.path, false) {
			t.Errorf("%q matches %q though case counts", tt.pattern, tt.path)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{"", "a pattern begins with a slash: write /"},
		{"v1", "a pattern begins with a slash: write /v1"},
		{"**", "a pattern begins with a slash: write /**"},
		{"/v1/", "paths are cleaned before they are matched, so nothing has this form: write /v1"},
		{"/a/../b", "paths are cleaned before they are matched, so nothing has this form: write /b"},
		{"/a%20b", "paths are decoded before they are matched: write /a b"},
		{"/a/**b", "** stands alone between slashes: write * in place of ** in \"**b\", or /** after it"},
		{"/a***", "** stands alone between slashes: write * in place of ** in \"a***\", or /** after it"},
		{"/" + strings.Repeat("a", 512), "has 513 bytes, and 512 is the most: shorten it"},
		{"/" + strings.Repeat("a", 511), ""},
		{"/100%", ""},
		{"/{id}", ""},
	} {
		_, wrong := Parse(tt.pattern)
		if got := strings.TrimPrefix(wrong.Reason(), fmt.Sprintf("pattern %q: ", tt.pattern)); got != tt.want {
			t.Errorf("pattern %.40q: %q, want %q", tt.pattern, got, tt.want)
		}
	}
}

// A regular expression of the same meaning agrees with every pattern.
func TestPatternAgainstRegexp(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "b", "A", "aa", "ab", "*", "a*", "*a", "*a*b", "**", "**", "aaaaaaaaaaaaaaaaaaaaaaaaa"})
	piece := rapid.SampledFrom([]string{"a", "b", "A", "aa", "ab", "aab", "ba", "*", "aaaaaaaaaaaaaaaaaaaaaaaaa"})
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		pattern := "/" + strings.Join(rapid.SliceOfN(segment, 1, 9).Draw(t, "pattern"), "/")
		path := "/" + strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "path"), "/")
		if rapid.Bool().Draw(t, "derived") { // so that many paths match
			path = strings.NewReplacer("**", "b", "*", "a").Replace(pattern)
		}
		fold := rapid.Bool().Draw(t, "fold")
		p := patternOf(t, pattern)
		got, want := matches(&p, path, fold), patternRegexp(pattern, fold).MatchString(strings.TrimSuffix(path, "/")+"/")
		if got != want {
			t.Errorf("%q matches %q: %t, want %t", pattern, path, got, want)
		}
		if got {
			matched++
		}
	})
	if matched < 3 {
		t.Errorf("%d matches tried", matched)
	}
}

// patternRegexp matches paths with a slash after every segment.
func patternRegexp(pattern string, fold bool) *regexp.Regexp {
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

// Texts that differ in letter case alone fold to one: all characters are
// tried, with all their cases. Others stay apart.
func TestFold(t *testing.T) {
	folded := map[string]rune{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		text := "a" + string(r)
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if fold(text) != fold("A"+string(f)) {
				t.Errorf("%U and %U differ", r, f)
			}
		}
		other, ok := folded[fold(text)]
		if ok && !strings.EqualFold(string(r), string(other)) {
			t.Errorf("%U and %U fold to one", r, other)
		}
		folded[fold(text)] = r
	}
	for _, same := range [][2]string{{"abcK", "ABC\u212a"}, {"s\u017fS", "\u017fsS"}, {"\xff", "\xfe"}, {"\xff", "\ufffd"}, {"é\xc3", "É\ufffd"}} {
		if !strings.EqualFold(same[0], same[1]) || fold(same[0]) != fold(same[1]) {
			t.Errorf("%q and %q are equal, but do not fold to one", same[0], same[1])
		}
	}
}

// long are paths of 10 KB that keep matchers busy.
var long = []string{
	strings.Repeat("/a", 5<<10),
	"/" + strings.Repeat("a", 10<<10),
	strings.Repeat("/", 10<<10) + "x",
	"/v1" + strings.Repeat("/items7/x", 1<<10),
	"/" + strings.Repeat("\u212a", 10<<10/3),
}

// starred are patterns that their ends do not decide.
func starred(t testing.TB, n int) (patterns []Pattern) {
	for i := range n {
		form := []string{"/**/*s*/x/**", "/**/items*/*/x%d*", "/v1/**/*%d*/**", "/*/*/*7*/**/x%d"}[i%4]
		text := form
		if strings.Contains(form, "%d") {
			text = fmt.Sprintf(form, i)
		}
		patterns = append(patterns, patternOf(t, text))
	}
	return patterns
}

func TestMatchAllocations(t *testing.T) {
	patterns := starred(t, 100)
	if n := testing.AllocsPerRun(10, func() {
		text := NewText("/v1/items7/x/items14/y")
		for i := range patterns {
			patterns[i].Match(&text)
		}
	}); n != 0 {
		t.Errorf("matching allocates %v times", n)
	}
}

// TestSteps: a thousand patterns on a path of 10 KB compare few segments, and a
// pattern at most those of the path times those between two of its **.
func TestSteps(t *testing.T) {
	patterns := starred(t, 1000)
	for _, path := range append(long, strings.Repeat("/items/xy", 1<<10)) {
		compared, text := 0, NewText(path)
		for _, p := range patterns {
			if p.folded.mayMatch(text.folded, text.segments) {
				_, steps := p.folded.matchSegments(text.folded)
				compared += steps
			}
		}
		if most := 1_500_000; compared > most {
			t.Errorf("%.20q: %d segments compared, want %d at most", path, compared, most)
		}
	}
	for pattern, between := range map[string]int{
		"/**/a/a/b":               3,
		"/**/a*/a*/a*/b*/**":      4,
		"/**/*a*a*/**/*a/a*/*b/c": 3,
	} {
		p, text := patternOf(t, pattern), NewText(long[0])
		_, steps := p.folded.matchSegments(text.folded)
		if most := (between + 1) * (text.segments + 2); steps > most {
			t.Errorf("%s: %d segments compared, want %d at most", pattern, steps, most)
		}
	}
}
