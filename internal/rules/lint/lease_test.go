package lint_test

import (
	"strings"
	"testing"
)

// A process charges at most half of what is left ahead, so a longer lease has no
// effect. Plans and overrides may raise what is left.
func TestWarningsOfLongLeases(t *testing.T) {
	for _, c := range []struct{ rule, plans, want string }{
		{"lease: 500, limit: 1000/minute", "", ""},
		{"lease: 501, limit: 1000/minute", "", "write lease: 500"},
		{"lease: 501, overrides: true, limit: 1000/minute", "", ""},
		{"lease: 501, limit: 1000/minute", "plan: {from: jwt.plan}, plans: {pro: {r: 9000}}, authentication: {jwt: [{issuer: 'https://a.example/', audience: b}]}, ", ""},
		{"lease: 501, limit: 1000/minute", "overrides: {r: {all: {capacity: 9000}}}, ", ""},
		{"lease: 101, cost: 5, limit: 1000/minute", "", "write lease: 100"},
		{"lease: 101, cost: {from: header.n, min: 5, max: 9, settle: true}, limit: 1000/minute", "", "write lease: 100"},
		{"lease: 9, limits: [{name: a, capacity: 100, window: 1s}, {name: b, capacity: 12, window: 60s}]", "", "write lease: 6"},
		{"lease: 9, limits: [{name: a, capacity: 100, window: 1s}, {name: b, capacity: 12, window: 60s, cost: 0}]", "", ""},
		{"lease: 2, limit: 4/minute", "", ""},
		{"lease: 2, limit: 3/minute", "", "remove lease, which is for keys above 1,000 requests a second"},
		{"lease: 2, limit: 3/minute, mode: off", "", ""},
	} {
		s := load(t, "rules.yaml", "{"+c.plans+"rules: [{name: r, key: all, "+c.rule+"}]}")
		got := strings.Join(s.Warnings, "\n")
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) || c.want != "" && !strings.Contains(got, "rules[0].lease: ") {
			t.Errorf("%s: warnings %q, want %q", c.rule, got, c.want)
		}
	}
}
