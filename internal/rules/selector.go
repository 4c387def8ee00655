package rules

import (
	"net/netip"
	"slices"
	"strings"
)

// selector says which requests something covers: those for which every field that is given holds. A field that lists
// several holds if any of them does. The zero selector covers every request.
type selector struct {
	methods []string // upper case
	routes  []glob
	paths   []glob
	cidrs   []netip.Prefix
}

// covers is for what limits or bans. It ignores letter case, so that no spelling slips past it.
func (s *selector) covers(r *Request) bool {
	f := r.work()
	return s.hasMethod(r.Method, true) && hasMatch(s.routes, f.route, true) && hasMatch(s.paths, f.path, true) &&
		s.hasAddr(f.addr)
}

// coversExactly is for what lifts limits. Letter case counts, and a path must have been sent in its clean form: a backend
// may read "/health/../admin" in another way than the pattern does.
func (s *selector) coversExactly(r *Request) bool {
	f := r.work()
	if !f.sent && len(s.routes)+len(s.paths) > 0 {
		return false
	}
	return s.hasMethod(r.Method, false) && hasMatch(s.routes, f.route, false) && hasMatch(s.paths, f.path, false) &&
		s.hasAddr(f.addr)
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

func (s *selector) hasAddr(addr netip.Addr) bool {
	if len(s.cidrs) == 0 {
		return true
	}
	for _, c := range s.cidrs {
		if c.Contains(addr) {
			return true
		}
	}
	return false
}

// routePattern returns what a key's {route} says of a request whose gateway names no template: the pattern that it
// matched. Only the rules decide how many of those there are, where paths are the client's to make up.
func (s *selector) routePattern(route string) string {
	if len(s.routes) == 0 {
		return anyDepth
	}
	if g := firstMatch(s.routes, route, true); g != nil {
		return g.text
	}
	return ""
}

// sameAs reports whether both cover the same requests for the plain reason that they are written alike.
func (s *selector) sameAs(o *selector) bool {
	same := func(a, b glob) bool { return a.text == b.text }
	return slices.Equal(s.methods, o.methods) && slices.EqualFunc(s.routes, o.routes, same) &&
		slices.EqualFunc(s.paths, o.paths, same) && slices.Equal(s.cidrs, o.cidrs)
}

// everything reports whether it covers every request.
func (s *selector) everything() bool {
	return len(s.methods)+len(s.routes)+len(s.paths)+len(s.cidrs) == 0
}
