// Package match decides which requests a selector of the rules covers, and says
// why it does not cover one.
package match

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/gaissmai/bart"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// Selector covers the requests for which every stated field holds. A field with
// several values holds if one of them matches. The zero selector covers every
// request.
type Selector struct {
	Methods  []string // upper case
	Routes   []Pattern
	Paths    []Pattern
	CIDRs    []netip.Prefix
	networks *bart.Lite // of CIDRs, if there are many
	Callers  []string   // such as request.Known; nil for all
	Match    []Condition
}

// Covers is for what limits or bans. It ignores letter case, and a pattern
// matches if it matches any variant of the path.
func (s *Selector) Covers(r *request.Request) bool { return s.covers(r, false) }

// CoversExactly is for what lifts limits. It is case-sensitive, and a selector by
// path or route covers only requests whose path was sent in its clean form: the
// server may read any other form as a path that is limited.
func (s *Selector) CoversExactly(r *request.Request) bool { return s.covers(r, true) }

func (s *Selector) covers(r *request.Request, exactly bool) bool {
	f := r.Derived()
	return !(exactly && !f.Exact && s.byPath()) && s.hasMethod(r.Method, !exactly) &&
		(len(s.Routes) == 0 || s.matchingRoute(f, exactly) != nil) &&
		(len(s.Paths) == 0 || matchingPath(s.Paths, f, exactly) != nil) &&
		s.hasAddr(r) && s.hasCaller(r) &&
		!slices.ContainsFunc(s.Match, func(c Condition) bool { return !c.Holds(r, exactly) })
}

// OfCaller returns the selector without what it says of methods, paths, routes and
// GraphQL operations. whole is true if it says nothing of them.
func (s *Selector) OfCaller() (caller Selector, whole bool) {
	caller = *s
	caller.Methods, caller.Routes, caller.Paths = nil, nil, nil
	caller.Match = slices.DeleteFunc(slices.Clone(s.Match), func(c Condition) bool { return c.Part.OfOperation() })
	return caller, len(s.Methods) == 0 && !s.byPath() && len(caller.Match) == len(s.Match)
}

// byPath reports whether the path of a request matters. It does for routes too,
// even if the gateway names a template: the server behind it may read the path in
// another way.
func (s *Selector) byPath() bool { return len(s.Routes)+len(s.Paths) > 0 }

func (s *Selector) hasMethod(method string, fold bool) bool {
	return len(s.Methods) == 0 || slices.ContainsFunc(s.Methods,
		func(m string) bool { return m == method || fold && strings.EqualFold(m, method) })
}

// matchingRoute returns the route that matches the gateway's template, which
// says where the request goes, else the path; nil if none does.
func (s *Selector) matchingRoute(f *request.Derived, exactly bool) *Pattern {
	if f.Template != "" {
		return first(s.Routes, &f.Route, exactly)
	}
	return matchingPath(s.Routes, f, exactly)
}

// matchingPath returns a pattern that matches the clean form of the path, or,
// unless it must match exactly, any other variant; nil if there is none.
func matchingPath(patterns []Pattern, f *request.Derived, exactly bool) *Pattern {
	variants := f.PathVariants()
	if exactly {
		variants = variants[:1]
	}
	for i := range variants {
		if p := first(patterns, &variants[i], exactly); p != nil {
			return p
		}
	}
	return nil
}

// LimitTo sets the networks that the selector covers.
func (s *Selector) LimitTo(networks []netip.Prefix) {
	const few = 8 // a scan is as quick
	if s.CIDRs = networks; len(networks) > few {
		s.networks = setOf(networks)
	}
}

func (s *Selector) hasAddr(r *request.Request) bool {
	if len(s.CIDRs) == 0 {
		return true
	}
	addr := r.Addr()
	if s.networks != nil {
		return s.networks.Contains(addr)
	}
	return slices.ContainsFunc(s.CIDRs, func(c netip.Prefix) bool { return c.Contains(addr) })
}

// hasCaller reports whether the request's caller is among those of the selector.
// Browsers send a preflight without the credentials of the request that follows,
// so a selector by callers covers it only if it names its method.
func (s *Selector) hasCaller(r *request.Request) bool {
	return len(s.Callers) == 0 || slices.Contains(s.Callers, r.Caller()) && (len(s.Methods) > 0 || !r.IsPreflight())
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
		switch g := first(s.Routes, &variants[i], false); {
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

// Condition holds for requests whose value of a source is one of several.
type Condition struct {
	Part  key.Part
	Words []string
}

// Holds reports whether the request has one of the values. What lifts limits needs
// all root fields of a GraphQL operation among them: a client could otherwise add
// one that is free to those that are limited.
func (c *Condition) Holds(r *request.Request, exactly bool) bool {
	some, others := false, false
	c.Part.Each(r, func(text string) {
		among := slices.Contains(c.Words, text)
		some, others = some || among, others || !among
	})
	return some && !(exactly && others && c.Part.Kind == key.FromRootFields)
}

// Lookup holds the entries of deny or skip. Entries that name only networks, of
// which there may be very many, share one set.
type Lookup struct {
	networks *bart.Lite
	Others   []*Selector
	index    *Index // of Others
}

// NewLookup returns the lookup of a list of selectors, which must not change
// afterwards.
func NewLookup(list []Selector) *Lookup {
	l := &Lookup{}
	var networks []netip.Prefix
	for i := range list {
		if s := &list[i]; len(s.CIDRs) > 0 && !s.byPath() && len(s.Methods)+len(s.Callers)+len(s.Match) == 0 {
			networks = append(networks, s.CIDRs...)
		} else {
			l.Others = append(l.Others, s)
		}
	}
	l.index = NewIndex(l.Others)
	l.networks = setOf(networks)
	return l
}

// Covers reports whether any of them covers the request.
func (l *Lookup) Covers(r *request.Request) bool { return l.covers(r, false) }

// CoversExactly reports whether any of them covers the request exactly.
func (l *Lookup) CoversExactly(r *request.Request) bool { return l.covers(r, true) }

func (l *Lookup) covers(r *request.Request, exactly bool) (covers bool) {
	if l.networks.Size() > 0 && l.networks.Contains(r.Addr()) {
		return true
	}
	if len(l.Others) == 0 { // as in most documents
		return false
	}
	l.index.Each(r, func(place int32) { covers = covers || l.Others[place].covers(r, exactly) })
	return covers
}

// setOf returns the set of the networks in a list, which may overlap. A lookup
// takes tens of nanoseconds for any number of networks and allocates nothing; a
// network takes about a hundred bytes. Contains agrees with
// netip.Prefix.Contains, but ignores the zone of an address.
func setOf(networks []netip.Prefix) *bart.Lite {
	set := &bart.Lite{}
	for _, network := range networks {
		set.Insert(network)
	}
	return set
}

const anyDepth = urlpath.AnyDepth

// Pattern is a pattern of paths or routes, as the document has it. A {parameter}
// of a route's template is matched by its own text or by *.
type Pattern struct {
	Text    string
	pattern urlpath.Pattern
}

// Segments returns the pattern's segments. The caller must not change them.
func (g *Pattern) Segments() []string { return g.pattern.Segments() }

// ParseRoute reads a pattern of routes. A fault says what to write instead.
func ParseRoute(text string) (g Pattern, wrong problem.Fault) {
	g.Text = text
	switch method, rest, ok := strings.Cut(text, " "); {
	case len(text) > urlpath.MaxPattern: // reported below
	case ok && request.IsMethod(method) && strings.HasPrefix(rest, "/"):
		return Pattern{}, problem.New(problem.PatternMethod, text, rest, method)
	case text == "$default" || strings.HasSuffix(text, "+}"):
		return Pattern{}, problem.New(problem.BadPattern, text, "requests on a catch-all route are matched by their path", widened(text))
	case strings.HasPrefix(text, "$") && !strings.ContainsAny(text, "/*"): // a route of a WebSocket API, such as $connect
		text = "/" + text
	}
	if g.pattern, wrong = urlpath.Parse(text); wrong.Found() {
		return Pattern{}, wrong
	}
	return g, wrong
}

// ParsePath reads a pattern of paths, which have no template parameters.
func ParsePath(text string) (Pattern, problem.Fault) {
	g, wrong := ParseRoute(text)
	for _, s := range g.pattern.Segments() {
		if len(s) > 2 && strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
			return Pattern{}, problem.New(problem.PatternParameter, text, s)
		}
	}
	return g, wrong
}

// widened returns the pattern for what a catch-all route covers.
func widened(route string) string {
	i := strings.LastIndexByte(route, '/')
	return strings.TrimSuffix(route[:max(i, 0)], "/") + "/**"
}

// first returns the first pattern that matches: exactly, which is for what
// lifts limits, or regardless of letter case. It is nil if none does.
func first(patterns []Pattern, t *urlpath.Text, exactly bool) *Pattern {
	for i := range patterns {
		p := &patterns[i]
		if exactly && p.pattern.MatchExactly(t) || !exactly && p.pattern.Match(t) {
			return p
		}
	}
	return nil
}
