package rules

import (
	"path"
	"strings"
)

// cleanPath returns the one spelling that patterns are matched against: percent-escapes decoded once, a leading slash, no
// empty, "." or ".." segments and no trailing slash. An escape that is cut short or has other digits stays as it is. The
// result keeps every byte an escape spelled, also those that are no UTF-8.
func cleanPath(raw string) string {
	p := unescape(raw)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return path.Clean(p)
}

// unescape decodes percent-escapes once. It allocates only if there is one.
func unescape(s string) string { return unescapeSome(s, func(byte) bool { return true }) }

// unescapeSome decodes the percent-escapes of the bytes that are wanted, and leaves the others as they are. It allocates
// only if there is one of those.
func unescapeSome(s string, wanted func(byte) bool) string {
	var out strings.Builder
	from := 0 // of what is still to be copied
	for i := nextEscape(s, 0); i < len(s); i = nextEscape(s, i+1) {
		c := unhex(s[i+1])<<4 | unhex(s[i+2])
		if !wanted(c) {
			continue
		}
		if from == 0 {
			out.Grow(len(s))
		}
		out.WriteString(s[from:i])
		out.WriteByte(c)
		from = i + 3
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}

func hasEscape(s string) bool { return nextEscape(s, 0) < len(s) }

// nextEscape returns where the first escape begins from an index on; the length if there is none.
func nextEscape(s string, from int) int {
	for i := from; i < len(s); i++ {
		skip := strings.IndexByte(s[i:], '%')
		if skip < 0 {
			break
		}
		if i += skip; isEscape(s[i:]) {
			return i
		}
	}
	return len(s)
}

func isEscape(s string) bool { return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// routeTemplate returns the gateway's template for a route, or "" where it says nothing of the path: "$default", no route
// at all, or one that ends in a greedy part such as {proxy+}. An HTTP API's "GET /items" loses its method.
func routeTemplate(route string) string {
	if _, rest, ok := strings.Cut(route, " "); ok && strings.HasPrefix(rest, "/") {
		route = rest
	}
	if route == "$default" || strings.HasSuffix(route, "+}") {
		return ""
	}
	return route
}
