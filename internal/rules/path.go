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
func unescape(s string) string {
	if !hasEscape(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if isEscape(s[i:]) {
			out.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func hasEscape(s string) bool {
	for i := strings.IndexByte(s, '%'); i >= 0 && i+2 < len(s); i++ {
		if isEscape(s[i:]) {
			return true
		}
	}
	return false
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
