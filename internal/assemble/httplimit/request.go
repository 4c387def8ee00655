package httplimit

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

type contextKey struct{}

// WithRequest returns a context for an http.Request that stands for a gateway's
// event. ReadRequest then returns what rules see of the event.
func WithRequest(ctx context.Context, of *request.Request) context.Context {
	return context.WithValue(ctx, contextKey{}, of)
}

// ReadRequest returns what rules see of an HTTP request, for the caller to change.
// The client's address is that of the connection, whatever the headers say. As
// API Gateway does, ReadRequest appends it to X-Forwarded-For. Headers contain the
// fields that Connection names too: a client must not hide a field that decides.
func ReadRequest(r *http.Request) *request.Request {
	if of, ok := r.Context().Value(contextKey{}).(*request.Request); ok {
		own := *of
		return &own
	}
	path := sentPath(r.URL)
	// http.StripPrefix and routers cut the front. Rules name the path that clients send.
	if whole, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(whole, "/") && strings.HasSuffix(whole, path) {
		path = whole
	}
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
		headers["X-Forwarded-For"] = append(headers["X-Forwarded-For"], ip.String())
	}
	of := &request.Request{Method: r.Method, Path: path, IP: ip, Headers: headers, NoOperation: true}
	of.SetQuery(r.URL.RawQuery)
	return of
}

// sentPath returns a path as the client sent it. EscapedPath encodes what a URL
// must not contain, such as the number sign of "/a#b", where some servers end the
// path.
func sentPath(u *url.URL) string {
	if path, err := url.PathUnescape(u.RawPath); err == nil && path == u.Path && path != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// Peer returns the address of the connection; the zero Addr if there is none.
// Middleware such as chi's RealIP puts an address without a port there.
func Peer(r *http.Request) netip.Addr { return request.ParseAddr(r.RemoteAddr) }
