package rules

import (
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// clientAddress compiles where the client's address is read: from the end of
// X-Forwarded-For or Forwarded, counted in hops, or from a header beside a
// secret. Any client can send the header, so the secret proves that the proxy
// has set it.
func (c *compiler) clientAddress(d *ruledoc.ClientIP) (a request.ClientAddress) {
	if d == nil {
		return a
	}
	path := problem.Root("client_ip")
	header, secret := path.To("header"), path.To("secret")
	if d.TrustedHops != nil {
		a.Hops = int(*d.TrustedHops)
	}
	a.Header = c.form(header, d.Header, "header", "cf-connecting-ip", key.IsHeader(d.Header))
	if d.Secret != nil {
		a.SecretHeader = c.form(secret.To("header"), d.Secret.Header, "header", "x-origin-secret", key.IsHeader(d.Secret.Header))
		a.SecretEnv = c.form(secret.To("env"), d.Secret.Env, "environment variable", "ORIGIN_SECRET", envName().MatchString(d.Secret.Env))
	}
	switch {
	case a.Header == request.Forwarded && a.Hops > 0 && d.Secret == nil: // counted in Forwarded
	case a.Header == request.Forwarded:
		c.fail(header, problem.Instead, "forwarded lists every hop", "trusted_hops: 1 beside it, and no secret")
	case d.TrustedHops != nil && d.Header != "":
		c.fail(header, problem.Remove, "stands beside trusted_hops, and an address is read in one place", "one of them")
	case d.Header != "" && d.Secret == nil:
		c.fail(header, problem.Instead, "any client could send it",
			"a secret that your proxy alone knows, such as secret: {header: x-origin-secret, env: ORIGIN_SECRET}")
	case d.Secret != nil && d.Header == "":
		c.fail(secret, problem.Instead, "is of no use alone", "header: NAME, the header that holds the client's address")
	case a.Header == "x-forwarded-for":
		c.fail(header, problem.Instead, a.Header+" lists every hop", "trusted_hops: 1 in place of header and secret")
	case a.Header != "" && a.Header == a.SecretHeader:
		c.fail(secret, problem.Instead, "is the header of the address itself", "another for the secret")
	case d.TrustedHops == nil && d.Header == "":
		c.fail(path, problem.Empty, "trusted_hops: N, or header and secret, or remove it")
	}
	return a
}

// form reports a text that cannot be what the field holds, such as a header.
func (c *compiler) form(path problem.Path, text, what, example string, valid bool) string {
	if text != "" && !valid {
		c.fail(path, problem.Malformed, strconv.Quote(text), what, "a name such as "+example)
	}
	return text
}

// viewerFault says why the document cannot use a source that CloudFront states.
func (c *compiler) viewerFault(p key.Part) (wrong problem.Fault) {
	if d := c.doc.ClientIP; !p.OfViewer() || d != nil && d.Header == request.CloudFrontAddress {
		return wrong
	}
	return problem.New(problem.UntrustedViewer, p)
}

var (
	countryCode = ruledoc.Regexp(`^[A-Z][A-Z0-9]$`)
	asNumber    = ruledoc.Regexp(`^[1-9][0-9]{0,9}$`)
	graphQLName = ruledoc.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

	operationTypes = []string{"query", "mutation", "subscription"}
)

// comparedWord returns what is wrong with a value that match compares with a
// source: one that no request can have.
func comparedWord(p key.Part, word string) (wrong problem.Fault) {
	switch {
	case p.Kind == key.FromCountry && !countryCode().MatchString(word):
		return problem.New(problem.Malformed, strconv.Quote(word), "country", "two capital letters (ISO 3166-1), such as DE")
	case p.Kind == key.FromASN && !asNumber().MatchString(word):
		return problem.New(problem.Malformed, strconv.Quote(word), "autonomous system", "its number alone, such as 64496")
	case p.Kind == key.FromOperationType && !slices.Contains(operationTypes, word):
		return problem.New(problem.Malformed, strconv.Quote(word), "type of operations", "query, mutation or subscription")
	case p.Kind == key.FromRootFields && !graphQLName().MatchString(word):
		return problem.New(problem.Malformed, strconv.Quote(word), "field", "the whole name of one, such as createOrder")
	}
	return wrong
}

var (
	envName      = ruledoc.Pattern(ruledoc.HashSecret{}, "env")
	checkPattern = ruledoc.Pattern(ruledoc.HashSecret{}, "check")
)

// keyHash compiles the secret for hashed keys; nil for none.
func (c *compiler) keyHash(d *ruledoc.HashSecret) *key.Hash {
	if d == nil {
		return nil
	}
	path := problem.Root("hash_secret")
	if d.Check != "" && !checkPattern().MatchString(d.Check) {
		c.fail(path.To("check"), problem.Malformed, strconv.Quote(d.Check), "check",
			`the first 8 digits that printf %s "$KEY_SECRET" | sha256sum prints`)
	}
	env := c.form(path.To("env"), d.Env, "environment variable", "KEY_SECRET", envName().MatchString(d.Env))
	h := &key.Hash{Env: env, Check: d.Check}
	_, h.Missing = secretOf("hash_secret", h.Env, func(string) (string, bool) { return "", false }) // until it is loaded
	return h
}

// hashed returns by what the keys of a rule or of plans are hashed; nil for
// not at all.
func (c *compiler) hashed(path problem.Path, hash bool) *key.Hash {
	if !hash {
		return nil
	}
	if c.set.hash == nil {
		c.fail(path.To("hash"), problem.Instead, "there is no secret", `hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`)
	}
	return c.set.hash
}
