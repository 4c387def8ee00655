package rules

import (
	"strings"
	"testing"
)

func TestDiffOfTheOrderOfRules(t *testing.T) {
	for _, tt := range []struct{ current, next, want string }{
		{"abc", "abc", ""},
		{"abc", "bca", "rule a: moved from the first place to after c"},
		{"abc", "cab", "rule c: moved from after b to the first place"},
		{"abc", "cb", "rule c: moved from after b to the first place, rule a: removed"},
		{"abcd", "abxcd", "rule x: added"},
		{"abcd", "dabc", "rule d: moved from after c to the first place"},
		{"ab", "ba", "rule b: moved from after a to the first place"},
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
