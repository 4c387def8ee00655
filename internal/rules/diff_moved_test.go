package rules

import (
	"strings"
	"testing"
)

func TestDiffOfTheOrderOfRules(t *testing.T) {
	for _, tt := range []struct{ current, next, want string }{
		{"abc", "abc", ""},
		{"abc", "bca", "rules are charged in another order: from [a, b, c] to [b, c, a]"},
		{"abc", "cb", "rules are charged in another order: from [b, c] to [c, b], rule a: removed"},
		{"abc", "ac", "rule b: removed"},
		{"abcd", "abxcd", "rule x: added"},
		{"", "a", "rule a: added"},
		{"a", "", "rule a: removed"},
	} {
		var got []string
		for _, line := range lines(changes(inOrder(t, tt.current), inOrder(t, tt.next))) {
			line, _, _ = strings.Cut(line, ": {")
			got = append(got, line)
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s to %s: %q, want %q", tt.current, tt.next, got, tt.want)
		}
	}
}

// inOrder returns a document of rules whose names are letters.
func inOrder(t testing.TB, names string) *Set {
	var rules []string
	for _, name := range names {
		rules = append(rules, "{name: "+string(name)+", key: all, limits: [{capacity: 10, window: 60s}]}")
	}
	return parse(t, "rules: ["+strings.Join(rules, ", ")+"]")
}
