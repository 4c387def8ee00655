package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
