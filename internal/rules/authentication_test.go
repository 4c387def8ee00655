package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

func TestCompileAuthentication(t *testing.T) {
	got := parse(t, "{rules: [], defaults: {on_error: deny}, authentication: {jwt: ["+
		"{issuer: 'https://b.example/', audience: [z, a], algorithms: [RS256, ES256], leeway: 60s}, {issuer: 'http://127.0.0.1:9/a', audience: x, jwks: 'http://[::1]/k'}]}}").
		Document().Authentication
	all := ruledoc.Texts{"ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}
	want := &ruledoc.Authentication{OnError: "deny", JWT: []ruledoc.TokenIssuer{
		{Issuer: "http://127.0.0.1:9/a", Audience: ruledoc.Texts{"x"}, JWKS: "http://[::1]/k", Algorithms: all, Leeway: "30s"},
		{Issuer: "https://b.example/", Audience: ruledoc.Texts{"a", "z"}, Algorithms: ruledoc.Texts{"ES256", "RS256"}, Leeway: "1m"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Names of claims to pass on have the characters that claims of sources have in
// ASCII, so that each name is one claim.
func TestPassedClaimsAreSources(t *testing.T) {
	for c := range byte(128) {
		name := "a.example" + string(c) + "b" // a slash needs a namespace in a source
		if _, wrong := key.ParseSource("jwt." + name); claimName().MatchString(name) == wrong.Found() {
			t.Errorf("%q: as a source: %s; to pass on: %t", name, wrong.Reason(), claimName().MatchString(name))
		}
	}
}

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

// Overrides may loosen a rule only if the client does not fill in their keys.
func TestRestrictOnly(t *testing.T) {
	for fields, want := range map[string]bool{
		"key: 'u:{jwt.sub}', overrides: true":                                      false,
		"key: '{ip}|{route}|{stage}|{apikey}', overrides: true":                    false,
		"key: 'p:{path.p}', overrides: true":                                       true,
		"key: 'h:{header.h}', overrides: true":                                     true,
		"key: '{method}', overrides: true":                                         true,
		"key: 'p:{path.p}', overrides: true, trusted: path.p":                      false,
		"key: 'p:{path.p}|{query.q}', overrides: true, trusted: [path.p]":          true,
		"key: 'p:{path.p}|{query.q}', overrides: true, trusted: [path.p, query.q]": false,
		"key: 'h:{header.X-H}', overrides: true, trusted: header.x-h":              false,
		"key: 'p:{path.p}|{jwt.sub}', overrides: 'u:{jwt.sub}'":                    false,
		"key: 'u:{jwt.sub}', overrides: 'p:{path.p}'":                              true,
		"key: 'u:{jwt.sub}', overrides: 'p:{path.p}', trusted: path.p":             false,
		"key: 'p:{path.p}', trusted: path.p":                                       false,
	} {
		if got := parseRule(t, fields).restrictOnly; got != want {
			t.Errorf("%s: %t, want %t", fields, got, want)
		}
	}
}

// A rule without overrides: true has only the document's overrides.
func TestDocumentOnly(t *testing.T) {
	s := parse(t, kinds)
	plain, _ := s.Rule("plain")
	if plain.TakesOverrides() {
		t.Error("it takes overrides from outside the document")
	}
	req := user("GET", "/", nil)
	key, ok := plain.AppendOverrideKey(nil, req)
	if o := s.Override("plain", string(key)); !ok || o == nil || o.Capacity[""] != 7 {
		t.Errorf("key %q, %t: %+v", key, ok, o)
	}
	s = parse(t, "{rules: [{name: r, key: 'p:{path.p}', limits: [{capacity: 9, window: 1s}]}], overrides: {r: {'p:a': {capacity: 3}}}}")
	if !s.Rules[0].restrictOnly {
		t.Error("the client's key may loosen")
	}
}
