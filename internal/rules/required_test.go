package rules

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// TestRequired: a request that authentication.required covers needs a known caller,
// in whatever form its path is sent. What it leaves out stays open.
func TestRequired(t *testing.T) {
	const issuer = "{rules: [], authentication: {jwt: [{issuer: 'https://a.example', audience: x}], required: "
	some := parse(t, issuer+"[{path: /v1/**}, {methods: post, path: /login/admin}, {cidrs: [198.51.100.0/24], match: {stage: prod}}]}}")
	all := parse(t, issuer+"true}}")
	none := parse(t, "rules: []")
	from := func(path string) *request.Request { return &request.Request{Method: "GET", Path: path} }
	with := func(path string, change func(*request.Request)) *request.Request {
		r := from(path)
		change(r)
		return r
	}
	for name, test := range map[string]struct {
		request       *request.Request
		bySome, byAll bool
	}{
		"covered":        {from("/v1/items"), true, true},
		"health":         {from("/health"), false, true},
		"letter case":    {from("/V1/items"), true, true},
		"a variant":      {from("/health/..;/v1/items"), true, true},
		"another method": {from("/login/admin"), false, true},
		"the method":     {with("/login/admin", func(r *request.Request) { r.Method = "POST" }), true, true},
		"a token":        {with("/v1/items", func(r *request.Request) { r.Claims = map[string]any{} }), false, false},
		"an API key":     {with("/v1/items", func(r *request.Request) { r.APIKey = "acme" }), false, false},
		"invalid":        {with("/v1/items", func(r *request.Request) { r.Rejected = true }), false, false},
		"not verified":   {with("/v1/items", func(r *request.Request) { r.Unverified = true }), true, true},
		"a preflight": {with("/v1/items", func(r *request.Request) {
			r.Method, r.Headers = "OPTIONS", map[string][]string{"Origin": {"x"}, "Access-Control-Request-Method": {"GET"}}
		}), false, false},
	} {
		if some, all, none := some.LacksCaller(test.request), all.LacksCaller(test.request), none.LacksCaller(test.request); some != test.bySome ||
			all != test.byAll || none {
			t.Errorf("%s: selectors %v, true %v, without %v", name, some, all, none)
		}
	}
	if !some.Ambiguous(from("/health/..;/v1/items")) {
		t.Error("selectors by path let ambiguous paths through")
	}
}

// TestPrincipal: the subject is hashed as keys are, and no subject can look like a
// hash. Only a verified one counts.
func TestPrincipal(t *testing.T) {
	hashing := withSecrets(t, hashing)
	plain := parse(t, "rules: []")
	by := func(sub any) *request.Request { return user("GET", "/", map[string]any{"sub": sub}) }
	own, _ := hashing.Rule("own-hashed")
	for sub, want := range map[any]string{"auth0|7": "auth0|7", "": "", 7: ""} {
		hashed := hashing.Principal(by(sub))
		if got := plain.Principal(by(sub)); got != want || strings.HasPrefix(hashed, "%hmac-") != (want != "") || strings.Contains(hashed, "auth0") {
			t.Errorf("%v: got %q, hashed %q", sub, got, hashed)
		}
	}
	hash := hashing.Principal(by("ann"))
	if key := string(own.AppendKey(nil, by("ann"))); key != hash {
		t.Errorf("the principal %s is not the key %s", hash, key)
	}
	if forged := hashing.Principal(by(hash)); forged == hash {
		t.Error("a subject that looks like a hash counts as one")
	}
	rejected := by("ann")
	rejected.Rejected = true
	if got := plain.Principal(rejected) + plain.Principal(&request.Request{}); got != "" {
		t.Errorf("callers without valid credentials have the principal %q", got)
	}
}
