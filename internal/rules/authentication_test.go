package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/ruledoc"
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
	const insecure = " is no URL that can be trusted: write one with https, without user and fragment; http works on this machine alone"
	for _, tt := range []struct{ fields, want string }{
		{"{}", ": verifies nothing: write jwt: [{issuer: URL, audience: NAME}] or api_key: {}, or remove it"},
		{"{on_error: allow}", ": verifies nothing: write jwt: [{issuer: URL, audience: NAME}] or api_key: {}, or remove it"},
		{"{api_key: {from: table}}", `.api_key.from: unknown value "table": write api_gateway`},
		{"{api_key: {from: api_gateway, header: x-api-key}}", ".api_key.header: API Gateway reads its keys itself: remove the header, or remove from for keys of slidegate apikeys"},
		{"{api_key: {}, usage_identifier_key: ip}", ".usage_identifier_key: ip is no credential: use a claim such as jwt.usage_key, apikey, or a header such as header.x-api-key"},
		{"{api_key: {}, usage_identifier_key: '{apikey}'}", ".usage_identifier_key: a source has braces in keys alone: write apikey"},
		{"{usage_identifier_key: apikey}", ": verifies nothing: write"},
		{"{on_error: local, jwt: [{issuer: 'https://a.example', audience: x}]}", `.on_error: unknown value "local": write allow or deny`},
		{"{jwt: [{audience: x}]}", ".jwt[0]: issuer is missing: write what tokens have as iss, such as issuer: https://example.eu.auth0.com/"},
		{"{jwt: [{issuer: 'https://a.example'}]}", ".jwt[0]: audience is missing: write for whom tokens must be, such as audience: https://api.example.com"},
		{"{jwt: [{issuer: 'http://a.example', audience: x}]}", `.jwt[0].issuer: "http://a.example"` + insecure},
		{"{jwt: [{issuer: 'http://127.0.0.1.example', audience: x}]}", `.jwt[0].issuer: "http://127.0.0.1.example"` + insecure},
		{"{jwt: [{issuer: 'https://user:secret@a.example', audience: x}]}", `.jwt[0].issuer: "https://user:xxxxx@a.example"` + insecure},
		{"{jwt: [{issuer: a.example, audience: x}]}", `.jwt[0].issuer: "a.example"` + insecure},
		{"{jwt: [{issuer: 'https://a.example?x=1', audience: x}]}", `.jwt[0].issuer: "https://a.example?x=1" has a query, and an issuer has none`},
		{"{jwt: [{issuer: 'https://a.example', audience: x}, {issuer: 'https://a.example', audience: y}]}",
			".jwt[1].issuer: authentication.jwt[0] has this issuer too: write all audiences there, as a list"},
		{"{jwt: [{issuer: 'https://a.example', audience: x, jwks: 'file:///keys'}]}", `.jwt[0].jwks: "file:///keys"` + insecure},
		{"{jwt: [{issuer: 'https://a.example', audience: x, algorithms: HS256}]}", `.jwt[0].algorithms: unknown value "HS256"`},
		{"{jwt: [{issuer: 'https://a.example', audience: x, algorithms: none}]}", `.jwt[0].algorithms: unknown value "none"`},
		{"{jwt: [{issuer: 'https://a.example', audience: x, leeway: 6m}]}", `.jwt[0].leeway: "6m" is no leeway: write a length of time such as 30s, 5m at most`},
		{"{jwt: [{issuer: 'https://a.example', audience: x, leeway: '60'}]}", `.jwt[0].leeway: "60" is no leeway: write a length of time such as 30s, 5m at most`},
	} {
		_, err := read(t, "f", "{rules: [], authentication: "+tt.fields+"}")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), ": authentication"+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
		}
	}
}
