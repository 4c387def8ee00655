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
// path's own: otherwise "/api/v1/../.." would reach into the base path. found is
// false if the template does not show the end; below is then the whole path.
func pathBelow(sent, template string, parameters map[string]string) (below string, found bool) {
	if isFilledIn(sent, template, parameters) { // without a base path, as most are sent
		return sent, true
	}
	return findBelow(sent, template, parameters)
}

// findBelow is pathBelow for a path that may have a base path.
func findBelow(sent, template string, parameters map[string]string) (below string, found bool) {
	filled, ok := filledIn(template, parameters)
	if !ok {
		return sent, false
	}
	asSent := func(segment string) (string, error) { return segment, nil }
	clean := path.Clean(filled)
	searches := []ending{{rest: segments(clean)}}
	if full := segments(filled); !slices.Equal(full, searches[0].rest) {
		searches = []ending{{rest: full, dots: true}, searches[0]}
	}
	for _, wanted := range searches {
		if start := min(endIn(sent, wanted, asSent), endIn(sent, wanted, url.PathUnescape)); start < len(sent) {
			return sent[start:], true
		}
	}
	if clean == "/" {
		return clean, true // the root itself, behind a base path
	}
	return sent, false
}

// pathBelowStage is pathBelow for an HTTP API, whose paths also begin with the
// stage's name. Only the stage $default has none. A route such as $default has
// no template: its path loses the stage alone. An HTTP API states its path
// decoded.
func pathBelowStage(decoded, stage, template string, parameters map[string]string) string {
	below, found := pathBelow(decoded, template, parameters)
	if rest, ok := strings.CutPrefix(decoded, "/"+stage); ok && !found && stage != "" && stage != "$default" {
		switch {
		case rest == "":
			below = "/"
		case rest[0] == '/':
			below = rest
		}
	}
	return encoded(below)
}

// encoded encodes the number signs of a decoded path, as the client did: a client
// sends none in a path, because it begins the fragment. So the same request gets
// the same answer behind every kind of API. Other decoded characters need nothing:
// a question mark and a lone percent sign are ambiguous either way, and what looks like
// an escape is decoded once more, as backends do with this path.
func encoded(decoded string) string { return strings.ReplaceAll(decoded, "#", "%23") }

// isFilledIn reports whether a path is a template with a request's parameters, to
// the letter.
func isFilledIn(sent, template string, parameters map[string]string) bool {
	if !strings.HasPrefix(template, "/") {
		return false
	}
	for part := range strings.SplitSeq(template[1:], "/") {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			value, ok := parameters[strings.TrimRight(name, "+}")]
			if !ok {
				return false
			}
			part = value
		}
		rest, slash := strings.CutPrefix(sent, "/")
		rest, same := strings.CutPrefix(rest, part)
		if !slash || !same {
			return false
		}
		sent = rest
	}
	return sent == ""
}

// filledIn returns a template with a request's parameters.
func filledIn(template string, parameters map[string]string) (string, bool) {
	parts := strings.Split(template, "/")
	for i, s := range parts {
		name, isParameter := strings.CutPrefix(s, "{")
		if !isParameter {
			continue
		}
		value, ok := parameters[strings.TrimRight(name, "+}")]
		if !ok {
			return "", false
		}
		parts[i] = value
	}
	return strings.Join(parts, "/"), strings.HasPrefix(template, "/")
}

// segments returns the segments of a path that are not empty.
func segments(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
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
		if len(wanted.rest) == 0 {
			start = slash
		}
		end = slash
	}
}

// ending is the unread rest of a wanted path, which is read from its end.
type ending struct {
	rest []string // segments that are not empty
	dots bool     // "." and ".." are ordinary names; otherwise the path is clean
	up   int      // segments that the ".." read so far remove
}

// precede reads the preceding segment, or several if a slash was escaped. It
// returns false if the path cannot have the wanted end.
func (e *ending) precede(decoded string) bool {
	for _, segment := range slices.Backward(strings.Split(decoded, "/")) {
		last := len(e.rest) - 1
		switch {
		case segment == "" || segment == "." && !e.dots:
		case segment == ".." && !e.dots:
			e.up++
		case e.up > 0:
			e.up--
		case last < 0 || e.rest[last] != segment:
			return false
		default:
			e.rest = e.rest[:last]
		}
	}
	return true
}
