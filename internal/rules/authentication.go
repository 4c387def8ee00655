package rules

import (
	"net/url"
	"strings"
	"time"

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
	if len(a.JWT) == 0 && a.APIKey == nil {
		c.fail("authentication", "verifies nothing: write jwt: [{issuer: URL, audience: NAME}] or api_key: {}, or remove it")
	}
	if a.APIKey != nil {
		switch header := a.APIKey.Header; {
		case a.APIKey.From != "" && header != "":
			c.fail("authentication.api_key.header", "API Gateway reads its keys itself: remove the header, or remove from for keys of slidegate apikeys")
		case a.APIKey.From != "":
		case !request.IsToken(header):
			c.fail("authentication.api_key.header", "%q is no name of a header: write one such as x-api-key", header)
		case strings.EqualFold(header, "authorization") || strings.EqualFold(header, "cookie"):
			c.fail("authentication.api_key.header", "%s holds other credentials: write a header of its own, such as x-api-key", header)
		}
	}
	if a.UsageIdentifierKey != "" {
		var problem string
		c.set.usageKey, problem = key.ParseStated(a.UsageIdentifierKey)
		c.check("authentication.usage_identifier_key", problem)
	}
	taken := map[string]string{}
	for i := range a.JWT {
		c.tokenIssuer(ruledoc.Index("authentication.jwt", i), &a.JWT[i], taken)
	}
}

// tokenIssuer checks one issuer. taken has the paths of the issuers before it.
func (c *compiler) tokenIssuer(path string, t *ruledoc.TokenIssuer, taken map[string]string) {
	const form = "%q is no URL that can be trusted: write one with https, without user and fragment; http works on this machine alone"
	u, err := url.Parse(t.Issuer)
	switch other := taken[t.Issuer]; {
	case t.Issuer == "": // Check reports it
	case !ruledoc.IsSecureURL(t.Issuer):
		c.fail(path+".issuer", form, redacted(t.Issuer))
	case err != nil || u.RawQuery != "":
		c.fail(path+".issuer", "%q has a query, and an issuer has none", t.Issuer)
	case other != "":
		c.fail(path+".issuer", "%s has this issuer too: write all audiences there, as a list", other)
	default:
		taken[t.Issuer] = path
	}
	if t.JWKS != "" && !ruledoc.IsSecureURL(t.JWKS) {
		c.fail(path+".jwks", form, redacted(t.JWKS))
	}
	if leeway, ok := ruledoc.ParseDuration(t.Leeway); !ok || leeway > maxLeeway {
		c.fail(path+".leeway", "%q is no leeway: write a length of time such as 30s, 5m at most", t.Leeway)
	}
}

// redacted returns a URL for a message, without a password.
func redacted(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "..."
}

// maxUsageKey is the longest value that an API key of API Gateway may have.
const maxUsageKey = 128

// UsageIdentifierKey returns the value of the API key by which a REST API's usage
// plans count a request, "" for none. It is a secret if API keys are.
func (s *Set) UsageIdentifierKey(r *request.Request) string {
	if s.usageKey.Kind == key.Literal {
		return ""
	}
	value, ok := s.usageKey.Value(r)
	if !ok || len(value) > maxUsageKey {
		return ""
	}
	return value
}
