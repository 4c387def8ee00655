package request

import (
	"net/url"
	"strings"
)

// NetworkBits is how many bits of an IPv6 address a client counts by, unless its
// rule says otherwise: providers give a host or a home a /64 at least.
const NetworkBits = 64

// SetTarget takes the path as sent, and the query, from a request target. It drops
// the scheme and host of a proxy's absolute form. An empty target is "/".
func (r *Request) SetTarget(target string) {
	path, query, _ := strings.Cut(target, "?")
	if scheme, rest, ok := strings.Cut(path, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	if path == "" {
		path = "/"
	}
	r.Path = path
	r.SetQuery(query)
}

// SetQuery takes the parameters of a query, without those that cannot be decoded.
func (r *Request) SetQuery(raw string) {
	if raw != "" {
		r.Query, _ = url.ParseQuery(raw)
	}
	r.AmbiguousQuery = AmbiguousNames(raw)
}

// AmbiguousNames returns the names of parameters that servers read in several
// ways. Some end a parameter at a semicolon, the query at a number sign or a value
// at a NUL, and some drop a parameter that they cannot decode.
func AmbiguousNames(raw string) (names []string) {
	if !strings.ContainsAny(raw, ";#%") {
		return nil
	}
	ended := false // some servers read no more
	for pair := range strings.SplitSeq(raw, "&") {
		ended = ended || strings.Contains(pair, "#")
		decoded, err := url.QueryUnescape(pair)
		if err == nil && !ended && !strings.ContainsAny(pair, ";") && !strings.Contains(decoded, "\x00") {
			continue
		}
		for part := range strings.FieldsFuncSeq(pair, func(c rune) bool { return c == ';' || c == '#' }) {
			name, _, _ := strings.Cut(part, "=")
			if decoded, err := url.QueryUnescape(name); err == nil {
				name, _, _ = strings.Cut(decoded, "\x00")
			}
			names = append(names, name)
		}
	}
	return names
}
