package rules

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// maxLeeway is more than clocks are off that anything sets.
const maxLeeway = 5 * time.Minute

// authentication checks how callers are verified. Package authn reads the
// normalized document.
func (c *compiler) authentication(a *ruledoc.Authentication) {
	if a == nil {
		return
	}
	path := problem.Root("authentication")
	if len(a.JWT) == 0 && a.APIKey == nil {
		c.fail(path, problem.Instead, "verifies nothing", "jwt: [{issuer: URL, audience: NAME}] or api_key: {}, or remove it")
	}
	if a.APIKey != nil {
		c.keySource(path.To("api_key").To("header"), a.APIKey)
	}
	if a.UsageIdentifierKey != "" {
		var wrong problem.Fault
		c.set.usageKey, wrong = key.ParseStated(a.UsageIdentifierKey)
		c.check(path.To("usage_identifier_key"), wrong)
	}
	c.required(path.To("required"), a.Required)
	c.passClaims(path.To("pass_claims"), a.PassClaims)
	taken := map[string]problem.Path{}
	for i := range a.JWT {
		c.tokenIssuer(path.To("jwt").At(i), &a.JWT[i], taken)
	}
}

// required compiles which requests need a known caller.
func (c *compiler) required(path problem.Path, r *ruledoc.Required) {
	switch {
	case r == nil:
		return
	case r.All:
		c.set.required = []match.Selector{{}}
		return
	}
	for i, d := range r.Some {
		at := path.At(i)
		if d.Caller != nil {
			c.failKey(at.To("caller"), problem.Remove, "only anonymous callers are refused here", "it")
		}
		for _, source := range sortedKeys(d.Match) {
			if p, _ := key.ParseSource(source); p.OfCredentials() {
				c.failKey(at.To("match").To(source), problem.Remove, "a caller without credentials has none", "it")
			}
		}
	}
	c.set.required = c.selectors(path, r.Some)
}

// maxPassedClaims bounds the names of claims that backends get.
const maxPassedClaims = 16

var claimName = ruledoc.Pattern(ruledoc.Authentication{}, "pass_claims")

// passClaims checks the names of claims that backends get.
func (c *compiler) passClaims(path problem.Path, names []string) {
	if len(names) > maxPassedClaims {
		c.fail(path, problem.Count, len(names), "claims", 1, maxPassedClaims)
	}
	for i, name := range names {
		switch claim, ofJWT := strings.CutPrefix(key.WithoutBraces.Replace(name), "jwt."); {
		case ofJWT && claim != "":
			c.fail(path.At(i), problem.Instead, strconv.Quote(name)+" is a source, and a claim is meant", claim)
		case !claimName().MatchString(name):
			c.fail(path.At(i), problem.Malformed, strconv.Quote(name), "name of a claim", "up to 128 letters and digits of ASCII, and -_.~:/#@$%")
		}
	}
	c.set.PassClaims = slices.Clone(names)
}

// keySource checks the header with the API key, which has this path. A header of
// other credentials is refused, because those would be looked up as keys.
func (c *compiler) keySource(path problem.Path, s *ruledoc.KeySource) {
	switch header := s.Header; {
	case s.From != "" && header != "":
		c.fail(path, problem.Remove, "API Gateway reads its keys itself", "the header, or remove from for keys of slidegate apikeys")
	case s.From != "":
	case !key.IsHeader(header):
		c.fail(path, problem.Malformed, strconv.Quote(header), "name of a header", "one such as x-api-key")
	case strings.EqualFold(header, "authorization") || strings.EqualFold(header, "cookie"):
		c.fail(path, problem.Instead, header+" holds other credentials", "a header of its own, such as x-api-key")
	}
}

// tokenIssuer checks one issuer. taken has the paths of the issuers before it. Its
// URLs must be secure: a server that answers in their place could sign any token.
func (c *compiler) tokenIssuer(path problem.Path, t *ruledoc.TokenIssuer, taken map[string]problem.Path) {
	untrusted := func(field, text string) {
		shown := "..." // without a password
		if u, err := url.Parse(text); err == nil {
			shown = u.Redacted()
		}
		c.fail(path.To(field), problem.Malformed, strconv.Quote(shown), "URL that can be trusted",
			"one with https, without user and fragment; http works on this machine alone")
	}
	u, err := url.Parse(t.Issuer)
	switch other := taken[t.Issuer]; {
	case t.Issuer == "": // Check reports it
	case !ruledoc.IsSecureURL(t.Issuer):
		untrusted("issuer", t.Issuer)
	case err != nil || u.RawQuery != "":
		c.fail(path.To("issuer"), problem.Instead, strconv.Quote(t.Issuer)+" has a query, and an issuer has none", "it without one")
	case other != nil:
		c.fail(path.To("issuer"), problem.Instead, other.String()+" has this issuer too", "all audiences there, as a list")
	default:
		taken[t.Issuer] = path
	}
	if t.JWKS != "" && !ruledoc.IsSecureURL(t.JWKS) {
		untrusted("jwks", t.JWKS)
	}
	if leeway, ok := ruledoc.ParseDuration(t.Leeway); !ok || leeway > maxLeeway {
		c.fail(path.To("leeway"), problem.Malformed, strconv.Quote(t.Leeway), "leeway", "a length of time such as 30s, 5m at most")
	}
}
