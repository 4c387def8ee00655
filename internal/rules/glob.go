package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPattern is the length of the longest pattern, in bytes. It bounds the time that one match can take.
const maxPattern = 512

const anyDepth = "**"

// glob is a pattern of paths: * stands for any text within a segment, ** alone in a segment for any number of segments,
// none included, so that /v1/** covers /v1 too. Everything else stands for itself; a {parameter} of a route's template
// is matched by its own text or by *.
type glob struct {
	text     string
	segments []string
}

// parseGlob reads a pattern of routes. The problem says what to write instead; it is empty for a good pattern.
func parseGlob(text string) (g glob, problem string) {
	switch method, rest, ok := strings.Cut(text, " "); {
	case len(text) > maxPattern:
		return glob{}, fmt.Sprintf("a pattern is at most %d bytes long", maxPattern)
	case ok && isMethod(method) && strings.HasPrefix(rest, "/"):
		return glob{}, fmt.Sprintf("write %s here and %s under methods", rest, method)
	case text == "$default" || strings.HasSuffix(text, "+}"):
		return glob{}, fmt.Sprintf("requests on a catch-all route are matched by their path: write %s", widened(text))
	case strings.HasPrefix(text, "$") && !strings.ContainsAny(text, "/*"):
		return glob{text, []string{text}}, "" // a WebSocket route, such as $connect
	case !strings.HasPrefix(text, "/"):
		return glob{}, fmt.Sprintf("a pattern begins with a slash: write /%s", text)
	case path.Clean(text) != text:
		return glob{}, fmt.Sprintf("paths are cleaned before they are matched, so nothing has this form: write %s", path.Clean(text))
	case hasEscape(text):
		return glob{}, fmt.Sprintf("paths are decoded before they are matched: write %s", unescape(text))
	}
	g = glob{text: text}
	if text != "/" {
		g.segments = strings.Split(text[1:], "/")
	}
	for _, s := range g.segments {
		if s != anyDepth && strings.Contains(s, anyDepth) {
			return glob{}, fmt.Sprintf("** stands alone between slashes: write * in place of ** in %q, or /** after it", s)
		}
	}
	return g, ""
}

// parsePathGlob reads a pattern of paths, which know no template parameters.
func parsePathGlob(text string) (glob, string) {
	g, problem := parseGlob(text)
	for _, s := range g.segments {
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

// match reports whether the pattern covers a whole path. fold ignores letter case.
//
// One place to go back to is enough: where a later ** is reached, an earlier one that took more could only have skipped
// ground that the later one can skip as well. The time is the product of both lengths at worst.
func (g *glob) match(p string, fold bool) bool {
	rest := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/")
	i, back, resume := 0, -1, ""
	for rest != "" {
		if i < len(g.segments) {
			if g.segments[i] == anyDepth {
				if i++; i == len(g.segments) {
					return true // whatever follows
				}
				back, resume = i, rest
				continue
			}
			head, tail, _ := strings.Cut(rest, "/")
			if matchSegment(g.segments[i], head, fold) {
				i++
				rest = tail
				continue
			}
		}
		if back < 0 {
			return false
		}
		_, resume, _ = strings.Cut(resume, "/") // ** takes one more
		i, rest = back, resume
	}
	return !slices.ContainsFunc(g.segments[i:], func(s string) bool { return s != anyDepth })
}

func matchSegment(pattern, s string, fold bool) bool {
	switch {
	case pattern == "*":
		return true
	case strings.IndexByte(pattern, '*') >= 0:
		return matchStars(pattern, s, fold)
	case fold:
		return strings.EqualFold(pattern, s)
	}
	return pattern == s
}

// matchStars is match, one level down: characters for segments and * for **.
func matchStars(pattern, s string, fold bool) bool {
	i, j, back, resume := 0, 0, -1, 0
	for j < len(s) {
		if i < len(pattern) {
			if pattern[i] == '*' {
				i++
				back, resume = i, j
				continue
			}
			a, n := utf8.DecodeRuneInString(pattern[i:])
			b, m := utf8.DecodeRuneInString(s[j:])
			if pattern[i:i+n] == s[j:j+m] || fold && sameLetter(a, b) {
				i, j = i+n, j+m
				continue
			}
		}
		if back < 0 {
			return false
		}
		_, m := utf8.DecodeRuneInString(s[resume:])
		resume += m
		i, j = back, resume
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// sameLetter reports whether two characters differ in nothing but letter case.
func sameLetter(a, b rune) bool {
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return a == b
}
