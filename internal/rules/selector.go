package rules

import (
	"net/netip"
	"strings"

	"github.com/slidegate/slidegate/internal/urlpath"
)

// selector covers the requests for which every stated field holds. A field with
// several values holds if one of them matches. The zero selector covers every
// request.
type selector struct {
	methods  []string // upper case
	routes   []glob
	paths    []glob
	cidrs    []netip.Prefix
	networks *prefixes // of cidrs, if there are many
	callers  caller    // those it covers; 0 for all
	match    []condition
}

// covers is for what limits or bans. It ignores letter case, and a pattern
// matches if it matches any variant of the path.
func (s *selector) covers(r *Request) bool {
	f := r.work()
	return s.hasMethod(r.Method, true) && s.hasRoute(f) && f.isOn(s.paths) &&
		s.hasAddr(f.addr) && s.hasCaller(r)
}

// coversExactly is for what lifts limits. It is case-sensitive, and a selector by
// path or route covers only requests whose path was sent in its clean form: the
// server may read any other form as a path that is limited.
func (s *selector) coversExactly(r *Request) bool {
	f := r.work()
	if !f.exact && s.byPath() {
		return false
	}
	return s.hasMethod(r.Method, false) && hasExactMatch(s.routes, &f.route) && hasExactMatch(s.paths, &f.variants[0]) &&
		s.hasAddr(f.addr) && s.hasCaller(r)
}

// byPath reports whether the path of a request matters. It does for routes too,
// even if the gateway names a template: the server behind it may read the path in
// another way.
func (s *selector) byPath() bool { return len(s.routes)+len(s.paths) > 0 }

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

// hasRoute looks at the gateway's template, which says where the request goes,
// else at the path.
func (s *selector) hasRoute(f *facts) bool {
	if f.template != "" {
		return len(s.routes) == 0 || firstMatch(s.routes, &f.route) != nil
	}
	return f.isOn(s.routes)
}

func (f *facts) isOn(globs []glob) bool { return len(globs) == 0 || f.match(globs) != nil }

// match returns a pattern that matches a variant of the path, the clean form if
// it can be; nil if there is none.
func (f *facts) match(globs []glob) *glob {
	variants := f.pathVariants()
	for i := range variants {
		if g := firstMatch(globs, &variants[i]); g != nil {
			return g
		}
	}
	return nil
}

func hasExactMatch(globs []glob, t *urlpath.Text) bool {
	return len(globs) == 0 || firstExactMatch(globs, t) != nil
}

// limitTo sets the networks that the selector covers.
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

// hasCaller reports whether the selector covers the caller and its claims.
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

// routePattern returns the value of {route} in a key for a request whose gateway
// names no template: the pattern that matched. So the rules bound the number of
// values, where clients make paths up. It is empty if the variants of the path
// match several patterns: the client must not choose its counter.
func (s *selector) routePattern(f *facts) string {
	if len(s.routes) == 0 {
		return anyDepth
	}
	var found *glob
	variants := f.pathVariants()
	for i := range variants {
		switch g := firstMatch(s.routes, &variants[i]); {
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

// everything reports whether the selector covers every request.
func (s *selector) everything() bool {
	return len(s.methods)+len(s.routes)+len(s.paths)+len(s.cidrs)+len(s.match) == 0 && s.callers == 0
}
