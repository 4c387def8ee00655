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
