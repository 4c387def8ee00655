package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
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

func TestWithoutCredentials(t *testing.T) {
	const limits = ", limits: [{capacity: 1, window: 1s}]}"
	s := load(t, "rules.yaml", "rules:\n"+
		"- {name: all, key: all"+limits+"\n"+
		"- {name: strangers, key: 'ip:{ip}', when: {caller: [anonymous, known]}"+limits+"\n"+
		"- {name: known, key: 'user:{jwt.sub}', when: {caller: known}"+limits+"\n"+
		"- {name: bad, key: 'ip:{ip}', when: {caller: [rejected]}"+limits+"\n"+
		"- {name: pro, key: 'ip:{ip}', when: {match: {jwt.plan: pro}}"+limits+"\n"+
		"- {name: stage, key: 'ip:{ip}', when: {match: {stage: prod}}"+limits+"\n"+
		"- {name: user, key: 'user:{jwt.sub}'"+limits+"\n"+
		"- {name: both, key: 'ip:{ip}|{apikey}'"+limits+"\n"+
		"- {name: key, key: 'key:{apikey}', mode: shadow"+limits+"\n"+
		"- {name: off, key: '{apikey}', mode: off"+limits+"\n")
	idle, lumped := lint.WithoutCredentials(s)
	if !slices.Equal(idle, []string{"known", "bad", "pro"}) || !slices.Equal(lumped, []string{"user", "key"}) {
		t.Errorf("idle %q, lumped %q", idle, lumped)
	}
	for _, r := range s.Rules { // as it says
		req := &request.Request{Method: "GET", Path: "/", Stage: "prod"}
		if r.Mode != rules.Off && r.Matches(req) == slices.Contains(idle, r.Name) {
			t.Errorf("rule %s covers a request without credentials: %t", r.Name, r.Matches(req))
		}
	}
}

// TestGatewayKeys: keys of API Gateway make callers known, and have no claims.
func TestGatewayKeys(t *testing.T) {
	const limits = ", limits: [{capacity: 1, window: 1s}]}"
	s := load(t, "rules.yaml", "authentication: {api_key: {from: api_gateway}, pass_claims: sub}\nrules:\n"+
		"- {name: known, key: 'key:{apikey}', when: {caller: known}"+limits+"\n"+
		"- {name: partner, key: all, when: {match: {apikey: k1}}"+limits+"\n"+
		"- {name: pro, key: all, when: {match: {jwt.plan: pro}}"+limits+"\n"+
		"- {name: user, key: 'user:{jwt.sub}'"+limits+"\n")
	idle, lumped := lint.WithoutCredentials(s)
	if !slices.Equal(idle, []string{"pro"}) || !slices.Equal(lumped, []string{"user"}) {
		t.Errorf("idle %q, lumped %q", idle, lumped)
	}
	if got := strings.Join(s.Caveats, "\n"); strings.Count(got, "tokens are not verified") != 3 ||
		!strings.Contains(got, "1:61: authentication.pass_claims: tokens are not verified without authentication.jwt: no claim is passed on") {
		t.Errorf("caveats %q", s.Caveats)
	}
}

// TestSecretsInKeys: a key of a secret that is not hashed draws one warning, which
// names the rule.
func TestSecretsInKeys(t *testing.T) {
	const last = ", limit: 1/s}\n- {name: ip, key: 'ip:{ip}', limit: 9/s}\n"
	const hashed = "hash_secret: {env: KEY_SECRET, check: 1a2b3c4d}\n"
	for _, test := range []struct{ top, rule, want string }{
		{"", "key: 'token:{header.authorization}'", "key {header.authorization}"},
		{"", "key: 'session:{header.Cookie}'", "key {header.cookie}"},
		{"", "key: 'key:{header.x-api-key}|{ip}'", "key {header.x-api-key}"},
		{"", "key: '{query.access_token}|{query.password}'", "key {query.access_token}"},
		{"", "key: '{query.token}'", "key {query.token}"},
		{"", "key: '{query.key}'", "key {query.key}"},
		{"", "key: '{query.apiKey}'", "key {query.apiKey}"},
		{"", "key: '{query.user[password]}'", "key {query.user[password]}"},
		{"", "key: '{header.x-amz-security-token}'", "key {header.x-amz-security-token}"},
		{"", "key: '{header.proxy-authorization}'", "key {header.proxy-authorization}"},
		{"", "key: '{header.ocp-apim-subscription-key}'", "key {header.ocp-apim-subscription-key}"},
		{"", "key: '{path.token}'", "key {path.token}"},
		{"", "key: '{ip}', overrides: 'key:{header.x-api-key}'", "overrides {header.x-api-key}"},
		{"", "mode: shadow, key: '{query.sid}'", "key {query.sid}"},
		{hashed, "hash: true, key: 'token:{header.authorization}'", ""},
		{hashed, "hash: true, key: '{ip}', overrides: '{header.cookie}'", ""},
		{"", "mode: off, key: 'token:{header.authorization}'", ""},
		{"", "key: 'key:{apikey}'", ""},
		{"", "key: 'user:{jwt.token}'", ""},
		{"", "key: '{ip}', cost: {from: header.x-token, min: 1, max: 1}", ""},
		{"", "key: '{header.x-max-tokens}'", ""},
		{"", "key: '{header.x-api-key-id}'", ""},
		{"", "key: '{query.compass}|{query.secretary}|{header.x-cache-key}|{header.x-tenant-key}'", ""},
	} {
		want := ""
		if field, source, ok := strings.Cut(test.want, " "); ok {
			want = "rules[0]." + field + ": rule by-secret puts " + source + ", a secret, into tables and logs: write hash: true in the rule, " +
				`and hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`
		}
		var got []string
		for _, warning := range load(t, "", test.top+"rules:\n- {name: by-secret, "+test.rule+last).Warnings {
			if _, text, _ := strings.Cut(warning, " "); strings.Contains(text, "secret") {
				got = append(got, text)
			}
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: warnings %q, want %q", test.rule, got, want)
		}
	}
}

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
