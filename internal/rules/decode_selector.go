package rules

import (
	"fmt"
	"net/netip"
	"strings"
)

var selectorForm = mapOf(func() []field { return new(decoder).selectorFields(&selector{}) }).named("selector")

func (d *decoder) selectorFields(s *selector) []field {
	return []field{
		{name: "methods", doc: "HTTP methods, such as GET or [GET, POST].",
			form: someOf(text("GET")), decode: func(v value) { s.methods = d.methods(v) }},
		{name: "route", doc: "Patterns of the gateway's routes; where a request has no route they are matched against its path.",
			form: someOf(text("/v1/**")), decode: func(v value) { s.routes = d.globs(v, parseGlob) }},
		{name: "path", doc: "Patterns of paths: * stands for anything within a segment, ** for any number of segments.",
			form: someOf(text("/v1/**")), decode: func(v value) { s.paths = d.globs(v, parsePathGlob) }},
		{name: "cidrs", doc: "Networks that the client's address is in, such as 198.51.100.0/24.",
			form: someOf(text("198.51.100.0/24")), decode: func(v value) { s.limitTo(d.cidrs(v)) }},
		{name: "caller", doc: "Who asks: anonymous (no credentials), known (verified ones) or rejected (bad ones).",
			form: someOf(oneOf(callers)), decode: func(v value) { s.callers = d.callers(v) }},
		{name: "match", doc: "Claims of the token, such as jwt.plan, apikey or stage, and the values that they may have.",
			form: namesTo(someOf(form{kind: aScalar, example: "pro"}), nil, "{jwt.plan: pro}"), decode: func(v value) { s.match = d.conditions(v) }},
	}
}

// selector decodes a map of fields that say which requests something covers. empty is what to say of a map without any.
func (d *decoder) selector(v value, s *selector, empty string) {
	if v.isEmptyMap() {
		d.fail(v, "%s", empty)
		return
	}
	d.object(v, d.selectorFields(s))
}

// methods are kept in upper case, as requests spell them.
func (d *decoder) methods(v value) []string {
	var methods []string
	for _, v := range d.some(v) {
		text, ok := d.text(v)
		if !ok {
			continue
		}
		method := strings.ToUpper(text)
		if method == "ANY" || !isMethod(method) {
			d.fail(v, "%q is no method: write names such as GET, or leave methods out to match them all", text)
			continue
		}
		methods = append(methods, method)
	}
	return methods
}

// isMethod reports whether s can be a method. A gateway's ANY and a star are none, though the star is a token.
func isMethod(s string) bool { return isToken(s) && !strings.Contains(s, "*") }

func (d *decoder) globs(v value, parse func(string) (glob, string)) []glob {
	var globs []glob
	for _, v := range d.some(v) {
		text, ok := d.text(v)
		if !ok {
			continue
		}
		g, problem := parse(text)
		if problem != "" {
			d.fail(v, "pattern %q: %s", text, problem)
			continue
		}
		globs = append(globs, g)
	}
	return globs
}

func (d *decoder) cidrs(v value) []netip.Prefix {
	var cidrs []netip.Prefix
	for _, v := range d.some(v) {
		text, ok := d.text(v)
		if !ok {
			continue
		}
		c, problem := parseCIDR(text)
		if problem != "" {
			d.fail(v, "%s", problem)
			continue
		}
		cidrs = append(cidrs, c)
	}
	return cidrs
}

// parseCIDR reads a network. It takes no address with bits beyond the network's length: a slip in either would ban, or
// let through, other clients than were meant.
func parseCIDR(text string) (c netip.Prefix, problem string) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return c, fmt.Sprintf("%q is an address: write the network %s", text, netip.PrefixFrom(addr, addr.BitLen()))
	}
	c, err := netip.ParsePrefix(text)
	if err != nil {
		return c, fmt.Sprintf("%q is no network: write one such as 198.51.100.0/24 or 2001:db8::/32", text)
	}
	right := c.Masked()
	if c.Addr().Is4In6() && c.Bits() >= 96 {
		right = netip.PrefixFrom(c.Addr().Unmap(), c.Bits()-96).Masked()
	}
	if right != c {
		return c, fmt.Sprintf("%q is not how a network is written: write %s", text, right)
	}
	return c, ""
}

// callers returns those that are named; all three are as good as none.
func (d *decoder) callers(v value) (named caller) {
	for _, v := range d.some(v) {
		if i, ok := d.choice(v); ok {
			named |= 1 << i
		}
	}
	if named == anonymous|known|rejected {
		return 0
	}
	return named
}

// besideMatch are the fields of selectors that say what these sources would.
var besideMatch = map[string]string{"ip": "cidrs", "route": "route", "method": "methods"}

// conditions decodes a map from trusted sources to the values that they may have.
func (d *decoder) conditions(v value) []condition {
	entries := d.entries(v)
	if v.isEmptyMap() {
		d.fail(v, "is empty: write what to look at, such as jwt.plan: pro, or remove the field")
	}
	var conditions []condition
	for _, e := range entries {
		if field := besideMatch[e.name]; field != "" {
			d.fail(e.key, "%s is no text to compare: write %s beside match", e.name, field)
			continue
		}
		var c condition
		c.part, _ = d.trustedSource(e.key, e.name)
		for _, v := range d.some(e.value) {
			if text, ok := d.plain(v); ok {
				c.words = append(c.words, text)
			}
		}
		conditions = append(conditions, c)
	}
	return conditions
}
