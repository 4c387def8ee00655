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
	JWT        []TokenIssuer `json:"jwt,omitempty" items:"1 16"`
	APIKey     *KeySource    `json:"api_key,omitempty"`
	Required   *Required     `json:"required,omitempty"`
	PassClaims Texts         `json:"pass_claims,omitempty" pattern:"^[A-Za-z0-9_.~:/#@$%-]{1,128}$"`
	// UsageIdentifierKey is a source such as jwt.usage_key.
	UsageIdentifierKey string `json:"usage_identifier_key,omitempty"`
	OnError            string `json:"on_error,omitempty" enum:"allow deny"`
}

// KeySource says which API keys count, and where requests have them.
type KeySource struct {
	From   string `json:"from,omitempty" enum:"api_gateway"`
	Header string `json:"header,omitempty"`
}

// TokenIssuer is an issuer of tokens.
type TokenIssuer struct {
	Issuer     string `json:"issuer,omitempty" pattern:"^https?://"`
	Audience   Texts  `json:"audience,omitempty"`
	JWKS       string `json:"jwks,omitempty" pattern:"^https?://"`
	Algorithms Texts  `json:"algorithms,omitempty"`
	Leeway     string `json:"leeway,omitempty"`
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
		t.Leeway = canonicalDuration(t.Leeway)
		t.Audience, t.Algorithms = sortedSet(t.Audience), sortedSet(t.Algorithms)
	}
	a.PassClaims = distinct(a.PassClaims) // in order: the first ones fit
	if a.Required != nil {
		a.Required.Some = mergeEntries(a.Required.Some)
	}
	slices.SortStableFunc(a.JWT, func(a, b TokenIssuer) int { return strings.Compare(a.Issuer, b.Issuer) })
}

// IsSecureURL reports whether no one else on the network can forge what a URL
// returns: it has https, or http on this machine. A URL with a user or a fragment
// is refused too.
func IsSecureURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	addr, _ := netip.ParseAddr(u.Hostname()) // the zero Addr of a name is no loopback
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || addr.IsLoopback())
}
