package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Locate replaces the gateway's peer by the client's address if the document
// says that there are proxies between them. Call it once, before any other use
// of the request.
func (s *Set) Locate(r *request.Request) { s.address.Locate(r) }

// clientAddress compiles where the client's address is read.
func (c *compiler) clientAddress(d *ruledoc.ClientIP) (a request.ClientAddress) {
	if d == nil {
		return a
	}
	const path = "client_ip"
	if d.TrustedHops != nil {
		a.Hops = int(*d.TrustedHops)
	}
	a.Header = c.form(path+".header", d.Header, "header", "cf-connecting-ip", request.IsToken(d.Header))
	if d.Secret != nil {
		a.SecretHeader = c.form(path+".secret.header", d.Secret.Header, "header", "x-origin-secret", request.IsToken(d.Secret.Header))
		a.SecretEnv = c.form(path+".secret.env", d.Secret.Env, "environment variable", "ORIGIN_SECRET", envName().MatchString(d.Secret.Env))
	}
	switch {
	case d.TrustedHops != nil && d.Header != "":
		c.fail(path+".header", "stands beside trusted_hops, and an address is read in one place: remove one of them")
	case d.Header != "" && d.Secret == nil:
		c.fail(path+".header", "any client could send it: add a header that your proxy alone sets, "+
			"such as secret: {header: x-origin-secret, env: ORIGIN_SECRET}")
	case d.Secret != nil && d.Header == "":
		c.fail(path+".secret", "is of no use alone: write header: NAME, the header that holds the client's address")
	case a.Header == "x-forwarded-for" || a.Header == "forwarded":
		c.fail(path+".header", "%s lists every hop: write trusted_hops: 1 in place of header and secret", a.Header)
	case a.Header != "" && a.Header == a.SecretHeader:
		c.fail(path+".secret", "is the header of the address itself: write another for the secret")
	case d.TrustedHops == nil && d.Header == "":
		c.fail(path, "is empty: write trusted_hops: N, or header and secret, or remove it")
	}
	return a
}

// form reports a text that cannot be what the field holds, such as a header.
func (c *compiler) form(path, text, what, example string, valid bool) string {
	if text != "" && !valid {
		c.fail(path, "%q is no %s: write a name such as %s", text, what, example)
	}
	return text
}

// viewerProblem says why the document cannot use a source that CloudFront
// states; it is empty for other sources.
func (c *compiler) viewerProblem(p key.Part) string {
	if d := c.doc.ClientIP; !p.OfViewer() || d != nil && d.Header == request.CloudFrontAddress {
		return ""
	}
	return p.String() + " is what CloudFront says of the client, and client_ip does not trust CloudFront: write client_ip: {header: " +
		request.CloudFrontAddress + ", secret: {header: x-origin-secret, env: ORIGIN_SECRET}}"
}

var (
	countryCode = ruledoc.Regexp(`^[A-Z][A-Z0-9]$`)
	asNumber    = ruledoc.Regexp(`^[1-9][0-9]{0,9}$`)
)

// viewerWord returns what is wrong with a value that match compares with a
// source that CloudFront states.
func viewerWord(p key.Part, word string) (problem string) {
	switch {
	case p.Kind == key.FromCountry && !countryCode().MatchString(word):
		return fmt.Sprintf("%q is no country: write two capital letters (ISO 3166-1), such as DE", word)
	case p.Kind == key.FromASN && !asNumber().MatchString(word):
		return fmt.Sprintf("%q is no autonomous system: write its number alone, such as 64496", word)
	}
	return ""
}
