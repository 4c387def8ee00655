package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// selector decodes a map of fields that say which requests something covers. empty is what to say of a
// map without any.
func (d *decoder) selector(v value, fields []field, empty string) {
	if m, ok := v.node.(*ast.MappingNode); ok && len(m.Values) == 0 {
		d.fail(v, "%s", empty)
		return
	}
	d.object(v, fields)
}

func (d *decoder) matchFields(s *selector) []field {
	return []field{
		{name: "methods", decode: func(v value) { s.methods = d.methods(v) }},
		{name: "route", decode: func(v value) { s.routes = d.globs(v, parseGlob) }},
		{name: "path", decode: func(v value) { s.paths = d.globs(v, parsePathGlob) }},
	}
}

// methods are kept in upper case, as requests spell them.
func (d *decoder) methods(v value) []string {
	const example = "[GET, POST]"
	var methods []string
	for _, v := range d.oneOrMore(v, example) {
		text, ok := d.text(v, example)
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
	const example = "/v1/**"
	var globs []glob
	for _, v := range d.oneOrMore(v, example) {
		text, ok := d.text(v, example)
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
	const example = "[198.51.100.0/24]"
	var cidrs []netip.Prefix
	for _, v := range d.oneOrMore(v, example) {
		text, ok := d.text(v, example)
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
