package rules

import (
	"fmt"
	"strings"

	"github.com/slidegate/slidegate/internal/urlpath"
)

const anyDepth = urlpath.AnyDepth

// glob is a pattern of paths or routes, as the document has it. A {parameter}
// of a route's template is matched by its own text or by *.
type glob struct {
	text    string
	pattern urlpath.Pattern
}

// parseGlob reads a pattern of routes. The problem says what to write instead;
// it is empty for a good pattern.
func parseGlob(text string) (g glob, problem string) {
	g.text = text
	switch method, rest, ok := strings.Cut(text, " "); {
	case len(text) > urlpath.MaxPattern: // reported below
	case ok && isMethod(method) && strings.HasPrefix(rest, "/"):
		return glob{}, fmt.Sprintf("write %s here and %s under methods", rest, method)
	case text == "$default" || strings.HasSuffix(text, "+}"):
		return glob{}, fmt.Sprintf("requests on a catch-all route are matched by their path: write %s", widened(text))
	case isWebSocketRoute(text):
		text = "/" + text
	}
	if g.pattern, problem = urlpath.Parse(text); problem != "" {
		return glob{}, problem
	}
	return g, ""
}

// isWebSocketRoute reports whether a pattern is a route such as $connect.
func isWebSocketRoute(text string) bool {
	return strings.HasPrefix(text, "$") && !strings.ContainsAny(text, "/*")
}

// parsePathGlob reads a pattern of paths, which have no template parameters.
func parsePathGlob(text string) (glob, string) {
	g, problem := parseGlob(text)
	for _, s := range g.pattern.Segments() {
		if isParameter(s) {
			return glob{}, fmt.Sprintf("a path has no template parameters: write * in place of %s, or match on route", s)
		}
	}
	return g, problem
}

func isParameter(segment string) bool {
	return len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}'
}

// widened returns the pattern for what a catch-all route covers.
func widened(route string) string {
	i := strings.LastIndexByte(route, '/')
	return strings.TrimSuffix(route[:max(i, 0)], "/") + "/**"
}

// routeTemplate returns the gateway's template for a route, or "" where the
// route says nothing about the path: "$default", no route at all, or one that
// ends in a greedy part such as {proxy+}. An HTTP API's "GET /items" loses its
// method.
func routeTemplate(route string) string {
	if _, rest, ok := strings.Cut(route, " "); ok && strings.HasPrefix(rest, "/") {
		route = rest
	}
	if route == "$default" || strings.HasSuffix(route, "+}") {
		return ""
	}
	return route
}

// firstMatch returns the first pattern that matches, letter case aside; nil if
// none does.
func firstMatch(globs []glob, t *urlpath.Text) *glob {
	for i := range globs {
		if globs[i].pattern.Match(t) {
			return &globs[i]
		}
	}
	return nil
}

// firstExactMatch is firstMatch for patterns that lift a limit.
func firstExactMatch(globs []glob, t *urlpath.Text) *glob {
	for i := range globs {
		if globs[i].pattern.MatchExactly(t) {
			return &globs[i]
		}
	}
	return nil
}
