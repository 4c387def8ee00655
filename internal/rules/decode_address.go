package rules

import (
	"regexp"
	"strings"
)

// maxHops is far above any chain of proxies that there is.
const maxHops = 32

// statedAddress is what a document says of the client's address, and where.
type statedAddress struct {
	hops, header, secret value
	address              clientAddress
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *decoder) addressFields(s *statedAddress) []field {
	a := &s.address
	return []field{
		{name: "trusted_hops", doc: "How many proxies that add to X-Forwarded-For stand before the gateway.", at: &s.hops,
			form: number(0, maxHops), decode: func(v value) { n, _ := d.integer(v); a.hops = int(n) }},
		{name: "header", doc: "The header in which a proxy of yours sends the client's address, such as cf-connecting-ip.", at: &s.header,
			form: text("cf-connecting-ip"), decode: func(v value) { a.header = d.headerName(v) }},
		{name: "secret", doc: "What proves that a request came by that proxy; without it any client could send the header.", at: &s.secret,
			form: mapOf(func() []field { return d.secretFields(a) }), decode: func(v value) { d.object(v, d.secretFields(a)) }},
	}
}

func (d *decoder) secretFields(a *clientAddress) []field {
	return []field{
		{name: "header", doc: "The header in which the proxy sends the secret.",
			form: text("x-origin-secret"), decode: func(v value) { a.secretHeader = d.headerName(v) },
			missing: "write the header that carries the secret, such as header: x-origin-secret"},
		{name: "env", doc: "The environment variable that holds the secret, so that no rules document does.",
			form: textLike(envName, "ORIGIN_SECRET"), decode: func(v value) { a.env = d.envName(v) },
			missing: "write the environment variable that holds the secret, such as env: ORIGIN_SECRET"},
	}
}

func (d *decoder) address(v value) clientAddress {
	var s statedAddress
	if !d.object(v, d.addressFields(&s)) {
		return clientAddress{}
	}
	switch a := &s.address; {
	case s.hops.stated() && s.header.stated():
		d.fail(s.header, "stands beside trusted_hops, and an address is read in one place: remove one of them")
	case s.header.stated() && !s.secret.stated():
		d.fail(s.header, "any client could send it: add a header that your proxy alone sets, "+
			"such as secret: {header: x-origin-secret, env: ORIGIN_SECRET}")
	case s.secret.stated() && !s.header.stated():
		d.fail(s.secret, "proves nothing by itself: write header: NAME, the header that holds the client's address")
	case a.header == "x-forwarded-for" || a.header == "forwarded":
		d.fail(s.header, "%s lists every hop: write trusted_hops: 1 in place of header and secret", a.header)
	case a.header != "" && a.header == a.secretHeader:
		d.fail(s.secret, "is the header of the address itself: write another for the secret")
	case !s.hops.stated() && !s.header.stated():
		d.fail(v, "is empty: write trusted_hops: N, or header and secret, or remove it")
	}
	return s.address
}

// headerName returns the name of a header in lower case.
func (d *decoder) headerName(v value) string {
	name, ok := d.text(v)
	if ok && !isToken(name) {
		d.fail(v, "%q is no header: write a name such as %s", name, v.form.as(aText).example)
	}
	return strings.ToLower(name)
}

func (d *decoder) envName(v value) string {
	name, ok := d.text(v)
	if ok && !envName.MatchString(name) {
		d.fail(v, "%q is no environment variable: write a name such as %s", name, v.form.as(aText).example)
	}
	return name
}
