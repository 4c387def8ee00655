package request

import (
	"net/url"
	"strings"
)

// NetworkBits is how many bits of an IPv6 address a client counts by, unless its
// rule says otherwise: providers give a host or a home a /64 at least.
const NetworkBits = 64

// SplitTarget returns the path of a request target, as sent, and the decoded
// query. It drops the scheme and host of a proxy's absolute form, and query
// parameters that cannot be decoded. An empty target is "/".
func SplitTarget(target string) (path string, query map[string][]string) {
	path, raw, _ := strings.Cut(target, "?")
	if scheme, rest, ok := strings.Cut(path, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	if path == "" {
		path = "/"
	}
	if raw != "" {
		query, _ = url.ParseQuery(raw)
	}
	return path, query
}
