package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSeveralIssuers: a claim alone does not distinguish callers of several
// issuers.
func TestSeveralIssuers(t *testing.T) {
	const (
		one    = "{issuer: 'https://a.example', audience: x}"
		two    = one + ", {issuer: 'https://b.example', audience: x}"
		limits = ", limits: [{capacity: 1, window: 1s}]}"
		plans  = "plans: {pro: {u: 9}}\n"
	)
	shared := func(path, claim, what, write string) string {
		return path + ": " + claim + " may be the same for callers of several issuers, who then share " + what + ": write \"" + write + "\""
	}
	stated := func(path, claim, where string) string {
		return path + ": each issuer in authentication.jwt can state " + claim + ": add jwt.iss to " + where + ", with the issuers that may"
	}
	user := shared("rules[0].key", "{jwt.sub}", "a counter", "user:{jwt.iss}|{jwt.sub}")
	for _, tt := range []struct {
		name, issuers, more, rule string
		want                      []string
	}{
		{"one issuer", one, "plan: {from: jwt.plan, overrides: 'user:{jwt.sub}'}\n" + plans, "key: 'user:{jwt.sub}'", nil},
		{"a key", two, "", "key: 'user:{jwt.sub}'", []string{user}},
		{"a key of two claims", two, "", "key: '{jwt.org}|{jwt.sub}'", []string{shared("rules[0].key", "{jwt.org}", "a counter", "{jwt.iss}|{jwt.org}|{jwt.sub}")}},
		{"the issuer first", two, "", "key: '{jwt.iss}|{jwt.sub}'", nil},
		{"the issuer last", two, "", "key: '{jwt.sub}|{jwt./iss}'", nil},
		{"no claim", two, "", "key: 'ip:{ip}|{apikey}'", nil},
		{"a rule for one issuer", two, "", "key: 'user:{jwt.sub}', when: {match: {jwt.iss: 'https://a.example'}}", nil},
		{"a rule for both", two, "", "key: 'user:{jwt.sub}', when: {match: {jwt.iss: ['https://a.example', 'https://b.example']}}", []string{user}},
		{"rejected callers", two, "", "key: 'user:{jwt.sub}', when: {caller: rejected}, unless: {match: {jwt.role: op}}", nil},
		{"rejected and known callers", two, "", "key: 'user:{jwt.sub}', when: {caller: [known, rejected]}", []string{user}},
		{"a counter of rules for two issuers", two, "", "counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: 'https://a.example'}}" + limits +
			"\n- {name: v, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt./iss: 'https://b.example'}}",
			[]string{user, strings.Replace(user, "rules[0]", "rules[1]", 1)}},
		{"a counter of two rules for one issuer", two, "", "counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: 'https://a.example'}}" + limits +
			"\n- {name: v, counter: c, key: 'user:{jwt.sub}', when: {match: {jwt.iss: 'https://a.example'}}", nil},
		{"a counter with other keys for another issuer", two, "", "counter: c, key: 'a:{jwt.sub}', when: {match: {jwt.iss: 'https://a.example'}}" + limits +
			"\n- {name: v, counter: c, key: 'b:{jwt.sub}', when: {match: {jwt.iss: 'https://b.example'}}", nil},
		{"skip by a claim", two, "skip: [{path: /a}, {match: {jwt.role: op}}]\n", "key: 'ip:{ip}'", []string{stated("skip[1].match", "jwt.role", "match")}},
		{"skip by a claim of one issuer", two, "skip: [{match: {jwt.role: op, jwt.iss: 'https://a.example'}}]\n", "key: 'ip:{ip}'", nil},
		{"skip by an API key", two, "skip: [{match: {apikey: k1}}]\n", "key: 'ip:{ip}'", nil},
		{"unless by a claim", two, "", "key: 'ip:{ip}', unless: {match: {jwt.role: op}}", []string{stated("rules[0].unless.match", "jwt.role", "match")}},
		{"unless by a claim of one issuer", two, "", "key: 'ip:{ip}', unless: {match: {jwt.role: op, jwt.iss: 'https://a.example'}}", nil},
		{"unless in a rule for one issuer", two, "", "key: 'ip:{ip}', when: {match: {jwt.iss: 'https://a.example'}}, unless: {match: {jwt.role: op}}", nil},
		{"a cost by a claim", two, "", "key: 'ip:{ip}', cost: {from: jwt.weight, max: 1}", []string{stated("rules[0].cost.from", "jwt.weight", "when.match")}},
		{"a limit's cost by a claim", two, "", "key: 'ip:{ip}', limits: [{capacity: 1, window: 1s, cost: {from: jwt.weight, max: 1}}]} #",
			[]string{stated("rules[0].limits[0].cost.from", "jwt.weight", "when.match")}},
		{"a cost by a claim of one issuer", two, "", "key: 'ip:{ip}', cost: {from: jwt.weight, max: 1}, when: {match: {jwt.iss: 'https://a.example'}}", nil},
		{"claims of one issuer", one, "", "key: 'user:{jwt.sub}', cost: {from: jwt.weight, max: 1}, unless: {match: {jwt.role: op}}", nil},
		{"a rule in shadow", two, "", "mode: shadow, key: 'user:{jwt.sub}'", []string{user}},
		{"a rule that is off", two, "", "mode: off, key: 'user:{jwt.sub}'", nil},
		{"overrides of a rule", two, "", "key: '{jwt.iss}|{jwt.sub}', overrides: 'org:{jwt.org}'",
			[]string{shared("rules[0].overrides", "{jwt.org}", "overrides", "org:{jwt.iss}|{jwt.org}")}},
		{"plans", two, "plan: {from: jwt.plan, overrides: 'user:{jwt.sub}'}\n" + plans, "key: 'ip:{ip}'", []string{
			"plan.from: each issuer in authentication.jwt can state any plan: list one issuer, or write overrides with a key such as \"user:{jwt.iss}|{jwt.sub}\" in place of from",
			shared("plan.overrides", "{jwt.sub}", "overrides", "user:{jwt.iss}|{jwt.sub}"),
		}},
		{"plans by the issuer", two, "plan: {from: jwt.iss, overrides: '{jwt.iss}|{jwt.sub}'}\n" + plans, "key: 'ip:{ip}'", nil},
		{"plans by API keys", two, "plan: {from: apikey, overrides: 'key:{apikey}'}\n" + plans, "key: 'ip:{ip}'", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, "f", "authentication: {jwt: ["+tt.issuers+"], api_key: {}}\n"+tt.more+"rules:\n- {name: u, "+tt.rule+limits)
			var got []string
			for _, w := range s.Warnings {
				_, text, _ := strings.Cut(w, " ") // behind file, line and column
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
