package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
)

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
