package rules

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
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
	taken := map[string]problem.Path{}
	for i := range a.JWT {
		c.tokenIssuer(path.To("jwt").At(i), &a.JWT[i], taken)
	}
}

// keySource checks the header with the API key, which has this path. A header of
// other credentials is refused, because those would be looked up as keys.
func (c *compiler) keySource(path problem.Path, s *ruledoc.KeySource) {
	switch header := s.Header; {
	case s.From != "" && header != "":
		c.fail(path, problem.Remove, "API Gateway reads its keys itself", "the header, or remove from for keys of slidegate apikeys")
	case s.From != "":
	case !request.IsToken(header):
		c.fail(path, problem.Malformed, strconv.Quote(header), "name of a header", "one such as x-api-key")
	case strings.EqualFold(header, "authorization") || strings.EqualFold(header, "cookie"):
		c.fail(path, problem.Instead, header+" holds other credentials", "a header of its own, such as x-api-key")
	}
}

// tokenIssuer checks one issuer. taken has the paths of the issuers before it. Its
// URLs must be secure: a server that answers in their place could sign any token.
func (c *compiler) tokenIssuer(path problem.Path, t *ruledoc.TokenIssuer, taken map[string]problem.Path) {
	untrusted := func(field, url string) {
		c.fail(path.To(field), problem.Malformed, strconv.Quote(redacted(url)), "URL that can be trusted",
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

// redacted returns a URL for a message, without a password.
func redacted(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "..."
}
