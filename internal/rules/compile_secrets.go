package rules

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

var (
	envName      = ruledoc.Pattern(ruledoc.HashSecret{}, "env")
	checkPattern = ruledoc.Pattern(ruledoc.HashSecret{}, "check")
)

// clientAddress compiles where the client's address is read.
func (c *compiler) clientAddress(d *ruledoc.ClientIP) (a clientAddress) {
	if d == nil {
		return a
	}
	const path = "client_ip"
	if d.TrustedHops != nil {
		a.hops = int(*d.TrustedHops)
	}
	a.header = c.headerName(path+".header", d.Header, "cf-connecting-ip")
	if d.Secret != nil {
		a.secretHeader = c.headerName(path+".secret.header", d.Secret.Header, "x-origin-secret")
		a.env = c.envName(path+".secret.env", d.Secret.Env, "ORIGIN_SECRET")
	}
	switch {
	case d.TrustedHops != nil && d.Header != "":
		c.fail(path+".header", "stands beside trusted_hops, and an address is read in one place: remove one of them")
	case d.Header != "" && d.Secret == nil:
		c.fail(path+".header", "any client could send it: add a header that your proxy alone sets, "+
			"such as secret: {header: x-origin-secret, env: ORIGIN_SECRET}")
	case d.Secret != nil && d.Header == "":
		c.fail(path+".secret", "proves nothing by itself: write header: NAME, the header that holds the client's address")
	case a.header == "x-forwarded-for" || a.header == "forwarded":
		c.fail(path+".header", "%s lists every hop: write trusted_hops: 1 in place of header and secret", a.header)
	case a.header != "" && a.header == a.secretHeader:
		c.fail(path+".secret", "is the header of the address itself: write another for the secret")
	case d.TrustedHops == nil && d.Header == "":
		c.fail(path, "is empty: write trusted_hops: N, or header and secret, or remove it")
	}
	return a
}

func (c *compiler) headerName(path, name, example string) string {
	if name != "" && !isToken(name) {
		c.fail(path, "%q is no header: write a name such as %s", name, example)
	}
	return name
}

func (c *compiler) envName(path, name, example string) string {
	if name != "" && !envName.MatchString(name) {
		c.fail(path, "%q is no environment variable: write a name such as %s", name, example)
	}
	return name
}

// keyHash compiles the secret for hashed keys; nil for none.
func (c *compiler) keyHash(d *ruledoc.HashSecret) *keyHash {
	if d == nil {
		return nil
	}
	if d.Check != "" && !checkPattern.MatchString(d.Check) {
		c.fail("hash_secret.check", `%q is no check: write the first 8 digits that printf %%s "$KEY_SECRET" | sha256sum prints`, d.Check)
	}
	h := &keyHash{env: c.envName("hash_secret.env", d.Env, "KEY_SECRET"), check: d.Check}
	h.missing = fmt.Errorf("hash_secret: %w", noSecret(h.env))
	return h
}

// hashed returns by what the keys of a rule or of plans are hashed; nil for
// not at all.
func (c *compiler) hashed(path string, hash bool) *keyHash {
	if !hash {
		return nil
	}
	if c.set.hash == nil {
		c.fail(path+".hash", `nothing says by which secret: write hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`)
	}
	return c.set.hash
}
