package rules

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// clientAddress says where to read the client's address behind proxies. The
// zero value takes the address that the gateway saw.
type clientAddress struct {
	hops   int    // how many proxies that add to X-Forwarded-For stand before the gateway
	header string // in lower case; empty for none
	// The header counts only in requests that carry the secret: others did not
	// come through the proxy that sets it.
	secretHeader, env, secret string
}

// ErrMissingSecret is wrapped by the error about a secret that the environment
// does not have.
var ErrMissingSecret = errors.New("a secret that the rules name is not set")

// LoadSecrets takes the secrets that the document names from the environment,
// by a function such as os.LookupEnv. A set that names secrets must not be used
// before. The error is ErrMissingSecret for a secret that is not there.
func (s *Set) LoadSecrets(lookup func(name string) (string, bool)) error {
	return errors.Join(s.LoadProxySecret(lookup), s.LoadHashSecret(lookup))
}

// LoadProxySecret does what LoadSecrets does for the secret of the proxy that
// sends the client's address alone. Without it, the address is the one that the
// gateway saw.
func (s *Set) LoadProxySecret(lookup func(name string) (string, bool)) error {
	a := &s.address
	if a.env == "" {
		return nil
	}
	secret, err := secretOf(lookup, a.env)
	if err != nil {
		return fmt.Errorf("client_ip: %w", err)
	}
	a.secret = secret
	return nil
}

// secretOf returns a secret of the environment, which is never empty.
func secretOf(lookup func(name string) (string, bool), env string) (secret string, err error) {
	secret, ok := lookup(env)
	if !ok || secret == "" {
		return "", noSecret(env)
	}
	return secret, nil
}

func noSecret(env string) error {
	return fmt.Errorf("%w: set the environment variable %s", ErrMissingSecret, env)
}

// Locate replaces the gateway's peer by the client's address if the document
// says that there are proxies between them. Call it once, before any other use
// of the request.
func (s *Set) Locate(r *Request) {
	a := &s.address
	switch {
	case a.header != "":
		if a.isVouched(r) {
			a.takeHeader(r)
		}
	case a.hops > 0:
		a.takeForwarded(r)
	}
}

// isVouched reports whether the request carries the secret that the proxy adds.
func (a *clientAddress) isVouched(r *Request) bool {
	values := r.header(a.secretHeader)
	return a.secret != "" && len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), []byte(a.secret)) == 1
}

func (a *clientAddress) takeHeader(r *Request) {
	values := r.header(a.header)
	if len(values) != 1 {
		return
	}
	if addr, ok := parseAddr(values[0]); ok {
		r.IP = addr
	}
}

// takeForwarded counts back from the gateway's peer, which is the last proxy:
// each proxy has added its own caller to X-Forwarded-For. API Gateway adds the
// peer itself. A request with fewer entries has not come through all proxies,
// and keeps the address that the gateway saw.
func (a *clientAddress) takeForwarded(r *Request) {
	entries := strings.Split(strings.Join(r.header("x-forwarded-for"), ","), ",")
	if last, ok := parseAddr(entries[len(entries)-1]); ok && last == r.IP.Unmap().WithZone("") {
		entries = entries[:len(entries)-1]
	}
	if n := len(entries) - a.hops; n >= 0 && n < len(entries) {
		if addr, ok := parseAddr(entries[n]); ok {
			r.IP = addr
		}
	}
}

// parseAddr reads an address, without a port as proxies write it.
func parseAddr(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSpace(text))
	return addr.Unmap().WithZone(""), err == nil
}

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
		c.fail(path+".secret", "is of no use alone: write header: NAME, the header that holds the client's address")
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
