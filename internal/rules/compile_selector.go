package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
)

// selectors compiles the entries of deny or skip.
func (c *compiler) selectors(path string, entries []ruledoc.Selector) []match.Selector {
	selectors := make([]match.Selector, len(entries))
	for i := range entries {
		selectors[i] = c.selector(ruledoc.Index(path, i), &entries[i], "is empty and would match every request: write which ones it is for")
	}
	return selectors
}

// selector compiles a selector. empty is the problem of one without any field.
func (c *compiler) selector(path string, d *ruledoc.Selector, empty string) (s match.Selector) {
	if d.Methods == nil && d.Route == nil && d.Path == nil && d.CIDRs == nil && d.Caller == nil && d.Match == nil {
		c.fail(path, "%s", empty)
		return s
	}
	for i, m := range d.Methods {
		if m == "ANY" || !request.IsMethod(m) {
			instead := "names such as GET, or leave methods out to match them all"
			if several := strings.FieldsFunc(m, func(c rune) bool { return strings.ContainsRune(" ,|/", c) }); len(several) > 1 {
				instead = "[" + strings.Join(several, ", ") + "]"
			}
			c.fail(ruledoc.Index(path+".methods", i), "%q is no method: write %s", m, instead)
		}
	}
	s.Methods = d.Methods
	s.Routes = c.patterns(path+".route", d.Route, match.ParseRoute)
	s.Paths = c.patterns(path+".path", d.Path, match.ParsePath)
	s.LimitTo(c.cidrs(path+".cidrs", d.CIDRs))
	if s.Callers = slices.Compact(slices.Sorted(slices.Values(d.Caller))); len(s.Callers) == 3 {
		s.Callers = nil // every caller
	}
	s.Match = c.conditions(path+".match", d.Match)
	return s
}

func (c *compiler) patterns(path string, texts []string, parse func(string) (match.Pattern, string)) (patterns []match.Pattern) {
	for i, text := range texts {
		p, problem := parse(text)
		if problem != "" {
			c.fail(ruledoc.Index(path, i), "pattern %q: %s", text, problem)
			continue
		}
		patterns = append(patterns, p)
	}
	return patterns
}

func (c *compiler) cidrs(path string, texts []string) (cidrs []netip.Prefix) {
	for i, text := range texts {
		if network, problem := parseCIDR(text); c.check(ruledoc.Index(path, i), problem) {
			cidrs = append(cidrs, network)
		}
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

// besideMatch has the fields of selectors for the sources that match cannot have.
var besideMatch = map[string]string{"ip": "cidrs", "route": "route", "method": "methods"}

// conditions compiles a map from trusted sources to the values they may have.
func (c *compiler) conditions(path string, wanted map[string]ruledoc.Words) (conditions []match.Condition) {
	for _, name := range sortedKeys(wanted) {
		at := ruledoc.Join(path, name)
		if field := besideMatch[name]; field != "" {
			c.failKey(at, "%s cannot be compared: write %s beside match", name, field)
			continue
		}
		p, problem := key.ParseCompared(name)
		if problem == "" {
			problem = c.viewerProblem(p)
		}
		if problem != "" {
			c.failKey(at, "%s", problem)
		}
		for i, word := range wanted[name] {
			c.check(ruledoc.Index(at, i), viewerWord(p, word))
		}
		conditions = append(conditions, match.Condition{Part: p, Words: wanted[name]})
	}
	return conditions
}
