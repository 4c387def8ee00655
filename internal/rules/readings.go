package rules

import (
	"path"
	"slices"
	"strings"
)

// otherReadings returns how a backend may read a path that was not sent clean, other than as what cleanPath makes of it.
// Backends differ. net/http cuts a path into segments first and decodes each then, so that %2F is no slash, and %2e%2e a
// segment like any other; some decode the path first and clean nothing; some clean it and let an escaped slash be. Tomcat,
// Jetty and Spring drop what follows a semicolon in a segment (a path parameter, RFC 3986, section 3.3) before they clean,
// some before they decode. Windows takes a backslash for a slash. What limits or bans must hold for all of them, or a client
// could spell its way past it. So it also looks at the path with its ".", ".." and empty segments in place, without the empty
// ones alone, at all of that once more with escaped slashes left escaped, and at all of that without parameters: at 25
// readings in all. A path that has only an escape, a slash or a parameter too many has one or two.
func otherReadings(raw, clean string) []string {
	r := readings{clean: clean}
	r.addSent(raw, clean)
	if hasParameters(raw) {
		cut := withoutParameters(raw)
		r.addSent(cut, cleanPath(cut))
	}
	if strings.Contains(raw, `\`) || strings.Contains(raw, "%5") {
		r.add(cleanPath(backslashes.Replace(raw)))
	}
	return r.others
}

var backslashes = strings.NewReplacer(`\`, "/", "%5C", "/", "%5c", "/")

// isPlain reports whether all backends read a path alike that is clean.
func isPlain(clean string) bool {
	return !hasParameters(clean) && strings.IndexByte(clean, '\\') < 0
}

// readings are those of one path, each of them once.
type readings struct {
	clean  string
	others []string
}

func (r *readings) add(p string) {
	if p != r.clean && !slices.Contains(r.others, p) {
		r.others = append(r.others, p)
	}
}

// addSent adds a path that has yet to be decoded: as a whole, which comes to cleaned, and by the segment.
func (r *readings) addSent(raw, cleaned string) {
	r.addDecoded(unescape(raw), cleaned)
	if strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f") {
		kept := unescape(keepSlashes.Replace(raw))
		r.addDecoded(kept, path.Clean(rooted(kept)))
	}
}

// keepSlashes escapes escaped slashes once more.
var keepSlashes = strings.NewReplacer("%2f", "%252F", "%2F", "%252F")

func (r *readings) addDecoded(p, cleaned string) {
	r.addUncleaned(rooted(p), cleaned)
	if hasParameters(p) {
		cut := rooted(withoutParameters(p))
		r.addUncleaned(cut, path.Clean(cut))
	}
}

// addUncleaned adds a path in its clean form, as it is, and with nothing but its empty segments taken out. Patterns do not
// mind a slash at its end.
func (r *readings) addUncleaned(p, cleaned string) {
	r.add(cleaned)
	if p == cleaned || p == cleaned+"/" {
		return
	}
	r.add(p)
	if strings.Contains(p, "//") && strings.Contains(p, "/.") {
		r.add(withoutEmpty(p))
	}
}

func hasParameters(p string) bool { return strings.IndexByte(p, ';') >= 0 }

// withoutParameters cuts each segment at its first semicolon.
func withoutParameters(p string) string {
	var out strings.Builder
	out.Grow(len(p))
	for segment, more := "", true; more; {
		segment, p, more = strings.Cut(p, "/")
		name, _, _ := strings.Cut(segment, ";")
		out.WriteString(name)
		if more {
			out.WriteByte('/')
		}
	}
	return out.String()
}

func withoutEmpty(p string) string {
	var out strings.Builder
	out.Grow(len(p))
	for segment := range strings.SplitSeq(p, "/") {
		if segment != "" {
			out.WriteByte('/')
			out.WriteString(segment)
		}
	}
	return out.String()
}

func rooted(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return "/" + p
}
