package envoy

import (
	"path"
	"regexp"
	"strings"
)

// wildcard returns an expression for the values that a pattern matches, as
// wildcardMatch of src/config/config_impl.go does: a star matches any text.
func wildcard(pattern string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

// mayOverlap reports whether two patterns may match the same value. It compares
// only the text before their first stars, so it may return true for patterns
// that have no value in common.
func mayOverlap(a, b string) bool {
	a, _, _ = strings.Cut(a, "*")
	b, _, _ = strings.Cut(b, "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// pathPattern turns a value with stars into a pattern of paths. A star matches
// slashes too, so it becomes ** where it is a whole segment, or at the end.
func pathPattern(value string) (pattern, whyNot string) {
	switch {
	case !strings.HasPrefix(value, "/"):
		return "", "a path begins with a slash"
	case strings.Contains(value, "?"):
		return "", "patterns do not see the query string"
	}
	segments := strings.Split(path.Clean(value)[1:], "/")
	for i, s := range segments {
		switch before, _ := strings.CutSuffix(s, "*"); {
		case s == "*":
			segments[i] = "**"
		case !strings.Contains(s, "*"):
		case i == len(segments)-1 && !strings.Contains(before, "*"):
			segments = append(segments, "**")
		default:
			return "", "a star matches slashes too, which no pattern can say here: write the paths out"
		}
	}
	return "/" + strings.Join(segments, "/"), ""
}
