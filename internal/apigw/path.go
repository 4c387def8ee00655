package apigw

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// pathBelow returns the path below the API's root. Behind a custom domain, the
// path of an event begins with the domain's base path, which no rule contains.
// The resource's template with its parameters shows where the base path ends:
// the path ends in it, as sent or decoded. Dots in the parameters must be the
// path's own: otherwise "/api/v1/../.." would reach into the base path.
func pathBelow(ev *RequestEvent) string {
	below, ok := filledIn(ev.Resource, ev.PathParameters)
	if !ok {
		return ev.Path
	}
	asSent := func(segment string) (string, error) { return segment, nil }
	clean := path.Clean(below)
	for _, wanted := range endings(below, clean) {
		if start := min(endIn(ev.Path, wanted, asSent), endIn(ev.Path, wanted, url.PathUnescape)); start < len(ev.Path) {
			return ev.Path[start:]
		}
	}
	if clean == "/" {
		return clean // the root itself, behind a base path
	}
	return ev.Path
}

// filledIn returns a template with a request's parameters.
func filledIn(template string, parameters map[string]string) (string, bool) {
	segments := strings.Split(template, "/")
	for i, s := range segments {
		name, isParameter := strings.CutPrefix(s, "{")
		if !isParameter {
			continue
		}
		value, ok := parameters[strings.TrimRight(name, "+}")]
		if !ok {
			return "", false
		}
		segments[i] = value
	}
	return strings.Join(segments, "/"), strings.HasPrefix(template, "/")
}

// endings returns what the path may end in, in the order of the search.
func endings(below, clean string) []ending {
	if full := withoutEmpty(below); full != clean {
		return []ending{{rest: full, dots: true}, {rest: clean}}
	}
	return []ending{{rest: clean}}
}

func withoutEmpty(p string) string {
	segments := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
	return "/" + strings.Join(segments, "/")
}

// endIn returns the start of the longest end of a path that is equivalent to
// the wanted one after decoding its segments; the path's length if there is
// none. It reads the path once, from its end.
func endIn(p string, wanted ending, decode func(segment string) (string, error)) (start int) {
	start = len(p)
	for end := len(p); ; {
		slash := strings.LastIndexByte(p[:end], '/')
		if slash < 0 {
			return start
		}
		segment, err := decode(p[slash+1 : end])
		if err != nil || !wanted.precede(segment) {
			return start
		}
		if wanted.complete() {
			start = slash
		}
		end = slash
	}
}

// ending is the unread rest of a wanted path, which is read from its end. It
// has no empty segments.
type ending struct {
	rest string
	dots bool // "." and ".." are ordinary names; otherwise the path is clean
	up   int  // segments that the ".." read so far remove
}

func (e *ending) complete() bool { return e.rest == "" || e.rest == "/" }

// precede reads the preceding segment, or several if a slash was escaped. It
// returns false if the path cannot have the wanted end.
func (e *ending) precede(text string) bool {
	for _, segment := range slices.Backward(strings.Split(text, "/")) {
		switch {
		case segment == "" || segment == "." && !e.dots:
		case segment == ".." && !e.dots:
			e.up++
		case e.up > 0:
			e.up--
		default:
			before, ok := strings.CutSuffix(e.rest, segment)
			if !ok || !strings.HasSuffix(before, "/") {
				return false
			}
			e.rest = before[:len(before)-1]
		}
	}
	return true
}
