package match

import (
	"strings"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
)

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
	case isWebSocketRoute(text):
		text = "/" + text
	}
	if g.pattern, wrong = urlpath.Parse(text); wrong.Found() {
		return Pattern{}, wrong
	}
	return g, wrong
}

// isWebSocketRoute reports whether a pattern is a route such as $connect.
func isWebSocketRoute(text string) bool {
	return strings.HasPrefix(text, "$") && !strings.ContainsAny(text, "/*")
}

// ParsePath reads a pattern of paths, which have no template parameters.
func ParsePath(text string) (Pattern, problem.Fault) {
	g, wrong := ParseRoute(text)
	for _, s := range g.pattern.Segments() {
		if isParameter(s) {
			return Pattern{}, problem.New(problem.PatternParameter, text, s)
		}
	}
	return g, wrong
}

func isParameter(segment string) bool {
	return len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}'
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
