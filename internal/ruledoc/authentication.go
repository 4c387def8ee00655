package ruledoc

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Authentication says which credentials limiters verify, and how.
type Authentication struct {
	JWT    []TokenIssuer `json:"jwt,omitempty" items:"1 16" example:"[{issuer: \"https://example.eu.auth0.com/\", audience: \"https://api.example.com\"}]" doc:"The issuers whose tokens (JWT) count, and what their tokens must state."`
	APIKey *KeySource    `json:"api_key,omitempty" example:"{header: x-api-key}" doc:"API keys count: those that slidegate apikeys makes, read from x-api-key with {}, or those of API Gateway."`
	// UsageIdentifierKey is a source such as jwt.usage_key.
	UsageIdentifierKey string `json:"usage_identifier_key,omitempty" example:"jwt.usage_key" doc:"The claim, or apikey or header.NAME, with the value of the API key by which a REST API's usage plans count an allowed request, for APIs that take their API keys from the authorizer."`
	OnError            string `json:"on_error,omitempty" enum:"allow deny" doc:"While a token or an API key cannot be verified, because no keys of its issuer could be fetched yet or the table does not answer: its caller counts as anonymous (allow), or gets an error (deny, the default with on_error: deny in defaults)."`
}

// KeySource says which API keys count, and where requests have them.
type KeySource struct {
	From   string `json:"from,omitempty" enum:"api_gateway" doc:"api_gateway: the API keys of API Gateway, which checks them itself; their ids are {apikey}, and they have no claims."`
	Header string `json:"header,omitempty" example:"x-api-key" doc:"The header with the key, x-api-key by default."`
}

// TokenIssuer is an issuer of tokens.
type TokenIssuer struct {
	Issuer     string `json:"issuer,omitempty" example:"https://example.eu.auth0.com/" pattern:"^https?://" need:"write what tokens have as iss, such as issuer: https://example.eu.auth0.com/" doc:"The claim iss of its tokens, exactly; also where its keys are found, by OpenID Connect discovery."`
	Audience   Texts  `json:"audience,omitempty" example:"https://api.example.com" need:"write for whom tokens must be, such as audience: https://api.example.com" doc:"For whom tokens must be: the claim aud has one of these, or client_id in a token without aud."`
	JWKS       string `json:"jwks,omitempty" example:"https://id.example.com/keys.json" pattern:"^https?://" doc:"Where the issuer publishes its keys, in place of discovery."`
	Algorithms Texts  `json:"algorithms,omitempty" enum:"RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA" doc:"The signatures that count; all of these by default."`
	Leeway     string `json:"leeway,omitempty" example:"30s" doc:"How far the issuer's clock may be off, 30s by default and 5m at most."`
}

// TokenAlgorithms are all algorithms of signatures that documents can allow. A
// shared secret never verifies a token: public keys would serve as one.
var TokenAlgorithms = Texts{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

const defaultLeeway = "30s"

func (a *Authentication) setDefaults(onError string) {
	if a == nil {
		return
	}
	if onError != "deny" {
		onError = "allow"
	}
	a.OnError = cmp.Or(a.OnError, onError)
	if a.APIKey != nil && a.APIKey.From == "" {
		a.APIKey.Header = cmp.Or(a.APIKey.Header, "x-api-key")
	}
	for i := range a.JWT {
		t := &a.JWT[i]
		t.Leeway = cmp.Or(t.Leeway, defaultLeeway)
		if t.Algorithms == nil {
			t.Algorithms = slices.Clone(TokenAlgorithms)
		}
	}
}

func (a *Authentication) normalize() {
	if a == nil {
		return
	}
	if a.APIKey != nil {
		a.APIKey.Header = strings.ToLower(a.APIKey.Header)
	}
	for i := range a.JWT {
		t := &a.JWT[i]
		if d, ok := ParseDuration(t.Leeway); ok {
			t.Leeway = FormatDuration(d)
		}
		t.Audience, t.Algorithms = sortedSet(t.Audience), sortedSet(t.Algorithms)
	}
	slices.SortStableFunc(a.JWT, func(a, b TokenIssuer) int { return strings.Compare(a.Issuer, b.Issuer) })
}

// IsSecureURL reports whether what a URL names can be trusted to be that: https,
// or http on this machine. It has no user and no fragment.
func IsSecureURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
