package envoy

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
)

func TestPathPattern(t *testing.T) {
	for _, tt := range []struct{ value, pattern, why string }{
		{"/", "/", ""}, {"/a", "/a", ""}, {"/a/", "/a", ""}, {"/a//b/../c", "/a/c", ""}, {"/*", "/**", ""}, {"/a/*", "/a/**", ""},
		{"/a*", "/a*/**", ""}, {"/a/*/b", "/a/**/b", ""}, {"/a/*/b*", "/a/**/b*/**", ""}, {"/*/*", "/**/**", ""},
		{"/a*/b", "", "a star matches slashes"}, {"/a*b", "", "a star matches slashes"}, {"/*b*", "", "a star matches slashes"},
		{"a", "", "begins with a slash"}, {"*", "", "begins with a slash"}, {"/a?b=*", "", "query string"},
	} {
		pattern, why := pathPattern(tt.value)
		if pattern != tt.pattern || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: got %s, %q, want %s, %q", tt.value, pattern, why, tt.pattern, tt.why)
		}
	}
}

// A pattern matches the cleaned form of every path that the service's wildcard
// matches.
func TestPathPatternMatchesAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	word := func(letters string, most int) string {
		var b strings.Builder
		b.WriteByte('/')
		for range r.IntN(most) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	matched := 0
	for range 1000 {
		value := word("ab*//", 6)
		pattern, why := pathPattern(value)
		if why != "" {
			continue
		}
		set, err := rulefile.Parse("f", []byte("rules: [{name: r, when: {path: "+strconv.Quote(pattern)+"}, key: all, limits: [{capacity: 1, window: 1m}]}]"))
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			path := word("abc/", 8)
			if !matches(value, path) {
				continue
			}
			matched++
			if !set.Rules[0].Matches(&request.Request{Path: path}) {
				t.Errorf("%s matches %s, and %s does not", value, path, pattern)
			}
		}
	}
	if matched < 500 {
		t.Errorf("only %d paths were matched", matched)
	}
}

// wildcard agrees with the recursive matching of the tests.
func TestWildcard(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	word := func(letters string) string {
		var b strings.Builder
		for range r.IntN(7) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	for range 20000 {
		pattern, value := word("ab*")+"*"+word("ab*"), word("ab")
		if got, want := wildcard(pattern).MatchString(value), matches(pattern, value); got != want {
			t.Fatalf("%s matches %s: got %v, want %v", pattern, value, got, want)
		}
	}
}

// Two patterns that match the same value may overlap.
func TestMayOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	word := func(letters string) string {
		b := "/"
		for range r.IntN(4) {
			b += string(letters[r.IntN(len(letters))])
		}
		return b
	}
	for range 20000 {
		a, b, value := word("ab")+"*"+word("ab*"), word("ab")+"*", word("ab")+word("ab")
		if matches(a, value) && matches(b, value) && !mayOverlap(a, b) {
			t.Fatalf("%s and %s both match %s", a, b, value)
		}
	}
}

func TestNetwork(t *testing.T) {
	for _, tt := range []struct {
		value, cidr, key string
		ok               bool
	}{
		{"192.0.2.1", "192.0.2.1/32", "192.0.2.1", true}, {"192.0.2.0/24", "192.0.2.0/24", "", true},
		{"2001:db8::1", "2001:db8::1/128", "", true}, {"2001:DB8::/32", "2001:db8::/32", "", true},
		{"192.0.2.1/24", "", "", false}, {"::ffff:192.0.2.1", "", "", false}, {"fe80::1%eth0", "", "", false}, {"home", "", "", false}, {"", "", "", false},
		{"192.0.2.01", "", "", false},
	} {
		n := &node{meaning: meaning{"ip", tt.value}}
		if cidr, key, ok := n.network(); cidr != tt.cidr || key != tt.key || ok != tt.ok {
			t.Errorf("%s: got %s, %s, %v", tt.value, cidr, key, ok)
		}
	}
}
