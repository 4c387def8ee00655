package rules

import (
	"path"
	"strings"
)

// otherReadings returns how a backend may read a path that was not sent clean, other than as what cleanPath makes of it.
// Backends differ. net/http cuts a path into segments first and decodes each then, so that %2F is no slash, and %2e%2e a
// segment like any other; some decode the path first and clean nothing; some clean it and let an escaped slash be. What
// limits or bans must hold for all of them, or a client could spell its way past it. So it also looks at the path with its
// ".", ".." and empty segments in place, without the empty ones alone, and at all of that once more with escaped slashes
// left escaped: at six readings in all. A path that only has an escape or a slash too many has one or two.
func otherReadings(raw, clean string) (others []string) {
	others = appendUncleaned(nil, rooted(unescape(raw)), clean)
	if strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f") {
		kept := rooted(unescape(keepSlashes.Replace(raw)))
		cleaned := path.Clean(kept)
		others = appendUncleaned(append(others, cleaned), kept, cleaned)
	}
	return others
}

// keepSlashes escapes escaped slashes once more.
var keepSlashes = strings.NewReplacer("%2f", "%252F", "%2F", "%252F")

// appendUncleaned appends a path as it is, and with nothing but its empty segments taken out, where that is not its clean
// form. Patterns do not mind a slash at its end.
func appendUncleaned(others []string, p, clean string) []string {
	if p == clean || p == clean+"/" {
		return others
	}
	others = append(others, p)
	if strings.Contains(p, "//") && strings.Contains(p, "/.") {
		others = append(others, withoutEmpty(p))
	}
	return others
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
