package rules

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/match"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// selectors compiles the entries of deny or skip.
func (c *compiler) selectors(path problem.Path, entries []ruledoc.Selector) []match.Selector {
	selectors := make([]match.Selector, len(entries))
	for i := range entries {
		selectors[i] = c.selector(path.At(i), &entries[i], problem.New(problem.EmptySelector, "match", "which ones it is for"))
	}
	return selectors
}

// selector compiles a selector. empty is the fault of one without any field. A
// field that is stated without values is not absent: Check has reported it, so
// that no missing value makes the selector cover every request.
func (c *compiler) selector(path problem.Path, d *ruledoc.Selector, empty problem.Fault) (s match.Selector) {
	if d.Methods == nil && d.Route == nil && d.Path == nil && d.CIDRs == nil && d.Caller == nil && d.Match == nil {
		c.check(path, empty)
		return s
	}
	for i, m := range d.Methods {
		if m != "ANY" && request.IsMethod(m) {
			continue
		}
		at := path.To("methods").At(i)
		if several := strings.FieldsFunc(m, func(c rune) bool { return strings.ContainsRune(" ,|/", c) }); len(several) > 1 {
			c.fail(at, problem.Malformed, strconv.Quote(m), "method", "["+strings.Join(several, ", ")+"]")
		} else {
			c.fail(at, problem.BadMethod, m)
		}
	}
	s.Methods = d.Methods
	s.Routes = parsed(c, path.To("route"), d.Route, match.ParseRoute)
	s.Paths = parsed(c, path.To("path"), d.Path, match.ParsePath)
	s.LimitTo(parsed(c, path.To("cidrs"), d.CIDRs, parseCIDR))
	if s.Callers = slices.Compact(slices.Sorted(slices.Values(d.Caller))); len(s.Callers) == 3 {
		s.Callers = nil // every caller
	}
	s.Match = c.conditions(path.To("match"), d.Match)
	return s
}

// parsed returns the values of a list of texts, without those that it reports.
func parsed[T any](c *compiler, path problem.Path, texts []string, parse func(string) (T, problem.Fault)) (all []T) {
	for i, text := range texts {
		if value, wrong := parse(text); c.check(path.At(i), wrong) {
			all = append(all, value)
		}
	}
	return all
}

// parseCIDR reads a network. It takes no address with bits beyond the
// network's length: a slip in either would ban, or let through, other clients
// than were meant.
func parseCIDR(text string) (c netip.Prefix, wrong problem.Fault) {
	if addr := request.ParseAddr(text); addr.IsValid() {
		return c, problem.New(problem.Instead, strconv.Quote(text)+" is an address", "the network "+netip.PrefixFrom(addr, addr.BitLen()).String())
	}
	c, err := netip.ParsePrefix(text)
	if err != nil {
		return c, problem.New(problem.Malformed, strconv.Quote(text), "network", "one such as 198.51.100.0/24 or 2001:db8::/32")
	}
	switch right := request.CanonicalNetwork(c); {
	case !right.IsValid():
		return c, problem.New(problem.Remove, strconv.Quote(text)+" has no clients: its addresses count as the IPv4 addresses that they carry", "it")
	case right != c:
		return c, problem.New(problem.Instead, strconv.Quote(text)+" is not how a network is written", right.String())
	}
	return c, wrong
}

// besideMatch has the fields of selectors for the sources that match cannot have.
var besideMatch = map[string]string{"ip": "cidrs", "path": "path", "route": "route", "method": "methods"}

// conditions compiles a map from trusted sources to the values they may have. They
// are in the order of the sources, so that explanations of a request do not vary.
func (c *compiler) conditions(path problem.Path, wanted map[string]ruledoc.Words) (conditions []match.Condition) {
	for _, name := range sortedKeys(wanted) {
		at := path.To(name)
		if field := besideMatch[name]; field != "" {
			c.failKey(at, problem.NotCompared, name, problem.Field(field))
			continue
		}
		p, wrong := key.ParseCompared(name)
		if !wrong.Found() {
			wrong = c.viewerFault(p)
		}
		if wrong.Found() {
			c.report(problem.Problem{Path: at, AtKey: true, Fault: wrong})
		}
		for i, word := range wanted[name] {
			c.check(at.At(i), comparedWord(p, word))
		}
		conditions = append(conditions, match.Condition{Part: p, Words: wanted[name]})
	}
	return conditions
}
