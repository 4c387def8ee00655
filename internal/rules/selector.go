package rules

import (
	"net/netip"
	"strings"
)

// selector says which requests something covers: those for which every field that is given holds. A field that lists
// several holds if any of them does. The zero selector covers every request.
type selector struct {
	methods  []string // upper case
	routes   []glob
	paths    []glob
	cidrs    []netip.Prefix
	networks *prefixes // of cidrs, if there are many
	callers  caller    // those it covers; 0 for all
	match    []condition
}

// covers is for what limits or bans. It ignores letter case, and looks at every way in which a backend may read the path, so
// that no spelling slips past it.
func (s *selector) covers(r *Request) bool {
	f := r.work()
	return s.hasMethod(r.Method, true) && s.hasRoute(f) && f.isOn(s.paths) &&
		s.hasAddr(f.addr) && s.hasCaller(r)
}

// coversExactly is for what lifts limits. Letter case counts, and a path must have been sent in its clean form, without a
// semicolon or a backslash: a backend may read "/health/../admin" and "/health/..;/admin" in another way than the pattern does.
func (s *selector) coversExactly(r *Request) bool {
	f := r.work()
	if !f.sent && len(s.routes)+len(s.paths) > 0 {
		return false
	}
	return s.hasMethod(r.Method, false) && hasMatch(s.routes, f.route, false) && hasMatch(s.paths, f.path, false) &&
		s.hasAddr(f.addr) && s.hasCaller(r)
}

func (s *selector) hasMethod(method string, fold bool) bool {
	if len(s.methods) == 0 {
		return true
	}
	for _, m := range s.methods {
		if m == method || fold && strings.EqualFold(m, method) {
			return true
		}
	}
	return false
}

// hasRoute looks at the gateway's template, which says where the request goes, else at the path.
func (s *selector) hasRoute(f *facts) bool {
	if f.template != "" {
		return hasMatch(s.routes, f.template, true)
	}
	return f.isOn(s.routes)
}

func (f *facts) isOn(globs []glob) bool {
	if len(globs) == 0 {
		return true
	}
	g, _ := f.meet(globs)
	return g != nil
}

// meet returns a pattern that covers the path, letter case aside, and the reading of the path that it covers: the clean one
// if it can be. The pattern is nil if there is none.
func (f *facts) meet(globs []glob) (g *glob, reading string) {
	if g := firstMatch(globs, f.path, true); g != nil {
		return g, f.path
	}
	for _, p := range f.others {
		if g := firstMatch(globs, p, true); g != nil {
			return g, p
		}
	}
	return nil, f.path
}

func hasMatch(globs []glob, path string, fold bool) bool {
	return len(globs) == 0 || firstMatch(globs, path, fold) != nil
}

func firstMatch(globs []glob, path string, fold bool) *glob {
	for i := range globs {
		if globs[i].match(path, fold) {
			return &globs[i]
		}
	}
	return nil
}

// limitTo sets the networks that it covers.
func (s *selector) limitTo(networks []netip.Prefix) {
	const few = 8 // which are as quickly gone through one by one
	if s.cidrs = networks; len(networks) > few {
		s.networks = newPrefixes(networks)
	}
}

func (s *selector) hasAddr(addr netip.Addr) bool {
	switch {
	case len(s.cidrs) == 0:
		return true
	case s.networks != nil:
		return s.networks.contains(addr)
	}
	for _, c := range s.cidrs {
		if c.Contains(addr) {
			return true
		}
	}
	return false
}

// hasCaller reports whether the caller is one of those it covers, with the claims that it wants.
func (s *selector) hasCaller(r *Request) bool {
	if s.callers != 0 && s.callers&r.caller() == 0 {
		return false
	}
	for i := range s.match {
		if !s.match[i].holds(r) {
			return false
		}
	}
	return true
}

// routePattern returns what a key's {route} says of a request whose gateway names no template: the pattern that it
// matched. Only the rules decide how many of those there are, where paths are the client's to make up. A path that backends
// may read in ways that match several has none: it must not be counted where its sender likes.
func (s *selector) routePattern(f *facts) string {
	if len(s.routes) == 0 {
		return anyDepth
	}
	found := firstMatch(s.routes, f.path, true)
	for _, p := range f.others {
		switch g := firstMatch(s.routes, p, true); {
		case found == nil:
			found = g
		case g != nil && g != found:
			return ""
		}
	}
	if found == nil {
		return ""
	}
	return found.text
}

// everything reports whether it covers every request.
func (s *selector) everything() bool {
	return len(s.methods)+len(s.routes)+len(s.paths)+len(s.cidrs)+len(s.match) == 0 && s.callers == 0
}
