package match

import (
	"net/netip"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/urlpath"
)

// Selector covers the requests for which every stated field holds. A field with
// several values holds if one of them matches. The zero selector covers every
// request.
type Selector struct {
	Methods  []string // upper case
	Routes   []Pattern
	Paths    []Pattern
	CIDRs    []netip.Prefix
	networks *prefixes      // of cidrs, if there are many
	Callers  request.Caller // those it covers; 0 for all
	Match    []Condition
}

// Covers is for what limits or bans. It ignores letter case, and a pattern
// matches if it matches any variant of the path.
func (s *Selector) Covers(r *request.Request) bool {
	f := r.Derived()
	return s.hasMethod(r.Method, true) && s.hasRoute(f) && isOn(f, s.Paths) &&
		s.hasAddr(f.Addr) && s.hasCaller(r)
}

// CoversExactly is for what lifts limits. It is case-sensitive, and a selector by
// path or route covers only requests whose path was sent in its clean form: the
// server may read any other form as a path that is limited.
func (s *Selector) CoversExactly(r *request.Request) bool {
	f := r.Derived()
	if !f.Exact && s.byPath() {
		return false
	}
	return s.hasMethod(r.Method, false) && hasExactMatch(s.Routes, &f.Route) && hasExactMatch(s.Paths, &f.Variants[0]) &&
		s.hasAddr(f.Addr) && s.hasCaller(r)
}

// byPath reports whether the path of a request matters. It does for routes too,
// even if the gateway names a template: the server behind it may read the path in
// another way.
func (s *Selector) byPath() bool { return len(s.Routes)+len(s.Paths) > 0 }

func (s *Selector) hasMethod(method string, fold bool) bool {
	if len(s.Methods) == 0 {
		return true
	}
	for _, m := range s.Methods {
		if m == method || fold && strings.EqualFold(m, method) {
			return true
		}
	}
	return false
}

// hasRoute looks at the gateway's template, which says where the request goes,
// else at the path.
func (s *Selector) hasRoute(f *request.Derived) bool {
	if f.Template != "" {
		return len(s.Routes) == 0 || firstMatch(s.Routes, &f.Route) != nil
	}
	return isOn(f, s.Routes)
}

func isOn(f *request.Derived, globs []Pattern) bool {
	return len(globs) == 0 || anyVariant(f, globs) != nil
}

// anyVariant returns a pattern that matches a variant of the path, the clean form if
// it can be; nil if there is none.
func anyVariant(f *request.Derived, globs []Pattern) *Pattern {
	variants := f.PathVariants()
	for i := range variants {
		if g := firstMatch(globs, &variants[i]); g != nil {
			return g
		}
	}
	return nil
}

func hasExactMatch(globs []Pattern, t *urlpath.Text) bool {
	return len(globs) == 0 || firstExactMatch(globs, t) != nil
}

// LimitTo sets the networks that the selector covers.
func (s *Selector) LimitTo(networks []netip.Prefix) {
	const few = 8 // which are as quickly gone through one by one
	if s.CIDRs = networks; len(networks) > few {
		s.networks = newPrefixes(networks)
	}
}

func (s *Selector) hasAddr(addr netip.Addr) bool {
	switch {
	case len(s.CIDRs) == 0:
		return true
	case s.networks != nil:
		return s.networks.contains(addr)
	}
	for _, c := range s.CIDRs {
		if c.Contains(addr) {
			return true
		}
	}
	return false
}

// hasCaller reports whether the selector covers the caller and its claims.
func (s *Selector) hasCaller(r *request.Request) bool {
	if s.Callers != 0 && s.Callers&r.Caller() == 0 {
		return false
	}
	for i := range s.Match {
		if !s.Match[i].Holds(r) {
			return false
		}
	}
	return true
}

// Route returns the value of {route} in a key: the gateway's template, else the
// pattern that matched. So the rules bound the number of values, where clients
// make paths up. It is empty if the variants of the path match several
// patterns: the client must not choose its counter.
func (s *Selector) Route(r *request.Request) string {
	f := r.Derived()
	switch {
	case f.Template != "":
		return f.Template
	case len(s.Routes) == 0:
		return anyDepth
	}
	var found *Pattern
	variants := f.PathVariants()
	for i := range variants {
		switch g := firstMatch(s.Routes, &variants[i]); {
		case found == nil:
			found = g
		case g != nil && g != found:
			return ""
		}
	}
	if found == nil {
		return ""
	}
	return found.Text
}

// isEmpty reports whether the selector covers every request.
func (s *Selector) isEmpty() bool {
	return len(s.Methods)+len(s.Routes)+len(s.Paths)+len(s.CIDRs)+len(s.Match) == 0 && s.Callers == 0
}

// Condition holds for requests whose value of a source is one of several.
type Condition struct {
	Part  key.Part
	Words []string
}

func (c *Condition) Holds(r *request.Request) (holds bool) {
	c.Part.Each(r, func(text string) { holds = holds || c.names(text) })
	return holds
}

func (c *Condition) names(text string) bool {
	for _, w := range c.Words {
		if w == text {
			return true
		}
	}
	return false
}
