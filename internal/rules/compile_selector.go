package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// selectors compiles the entries of deny or skip.
func (c *compiler) selectors(path string, entries []ruledoc.Selector) []selector {
	selectors := make([]selector, len(entries))
	for i := range entries {
		selectors[i] = c.selector(ruledoc.Index(path, i), &entries[i], "is empty and would match every request: write which ones it is for")
	}
	return selectors
}

// selector compiles what selects requests. empty is the reason against a
// selector without any field.
func (c *compiler) selector(path string, d *ruledoc.Selector, empty string) (s selector) {
	if d.Methods == nil && d.Route == nil && d.Path == nil && d.CIDRs == nil && d.Caller == nil && d.Match == nil {
		c.fail(path, "%s", empty)
		return s
	}
	for i, m := range d.Methods {
		if m == "ANY" || !isMethod(m) {
			c.fail(ruledoc.Index(path+".methods", i), "%q is no method: write names such as GET, or leave methods out to match them all", m)
		}
	}
	s.methods = d.Methods
	s.routes = c.globs(path+".route", d.Route, parseGlob)
	s.paths = c.globs(path+".path", d.Path, parsePathGlob)
	s.limitTo(c.cidrs(path+".cidrs", d.CIDRs))
	s.callers = callersNamed(d.Caller)
	s.match = c.conditions(path+".match", d.Match)
	return s
}

// isMethod reports whether s can be a method. A gateway's ANY and a star are
// none, though the star is a token.
func isMethod(s string) bool { return isToken(s) && !strings.Contains(s, "*") }

func (c *compiler) globs(path string, patterns []string, parse func(string) (glob, string)) (globs []glob) {
	for i, text := range patterns {
		g, problem := parse(text)
		if problem != "" {
			c.fail(ruledoc.Index(path, i), "pattern %q: %s", text, problem)
			continue
		}
		globs = append(globs, g)
	}
	return globs
}

func (c *compiler) cidrs(path string, texts []string) (cidrs []netip.Prefix) {
	for i, text := range texts {
		network, problem := parseCIDR(text)
		if problem != "" {
			c.fail(ruledoc.Index(path, i), "%s", problem)
			continue
		}
		cidrs = append(cidrs, network)
	}
	return cidrs
}

// parseCIDR reads a network. It takes no address with bits beyond the
// network's length: a slip in either would ban, or let through, other clients
// than were meant.
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

// callersNamed returns the callers that are named; 0 for all three, which is
// as good as none.
func callersNamed(names []string) (named caller) {
	for _, name := range names {
		if i := slices.Index(callers, name); i >= 0 {
			named |= 1 << i
		}
	}
	if named == anonymous|known|rejected {
		return 0
	}
	return named
}

// besideMatch are the fields of selectors that stand for these sources.
var besideMatch = map[string]string{"ip": "cidrs", "route": "route", "method": "methods"}

// conditions compiles a map from trusted sources to the values they may have.
func (c *compiler) conditions(path string, match map[string]ruledoc.Words) (conditions []condition) {
	for _, name := range sortedKeys(match) {
		at := ruledoc.Join(path, name)
		if field := besideMatch[name]; field != "" {
			c.failKey(at, "%s cannot be compared: write %s beside match", name, field)
			continue
		}
		p, problem := parseTrusted(name)
		if problem != "" {
			c.failKey(at, "%s", problem)
		}
		conditions = append(conditions, condition{p, match[name]})
	}
	return conditions
}
