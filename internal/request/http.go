package request

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

type contextKey struct{}

// NewContext returns a context for an http.Request that stands for a gateway's
// event. FromHTTP then returns what rules see of the event.
func NewContext(ctx context.Context, of *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, of)
}

// FromHTTP returns what rules see of an HTTP request, for the caller to change.
// The client's address is that of the connection, whatever the headers say. As
// API Gateway does, FromHTTP appends it to X-Forwarded-For. Headers contain the
// fields that Connection names too: a client must not hide a field that decides.
func FromHTTP(r *http.Request) *Request {
	if of, ok := r.Context().Value(contextKey{}).(*Request); ok {
		own := *of
		return &own
	}
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	headers := r.Header.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	headers["Host"] = []string{r.Host} // net/http removes it from the fields, and Transfer-Encoding
	if len(r.TransferEncoding) > 0 {
		headers["Transfer-Encoding"] = r.TransferEncoding
	}
	ip := Peer(r)
	if ip.IsValid() {
		headers["X-Forwarded-For"] = append(headers["X-Forwarded-For"], ip.WithZone("").String())
	}
	return &Request{Method: r.Method, Path: path, IP: ip, Headers: headers, Query: r.URL.Query()}
}

// NetworkBits is how many bits of an IPv6 address a client counts by, unless its
// rule says otherwise: providers give a host or a home a /64 at least.
const NetworkBits = 64

// Peer returns the address of the connection; the zero Addr if there is none.
// Middleware such as chi's RealIP puts an address without a port there.
func Peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, _ := netip.ParseAddr(host)
	return addr.WithZone("") // a link-local address carries its zone
}

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
