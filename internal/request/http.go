package request

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// FromHTTP returns what rules see of an HTTP request. The client's address is
// that of the connection, whatever the headers say. As API Gateway does,
// FromHTTP appends it to X-Forwarded-For. Headers contain the fields that
// Connection names too: a client must not hide a field that decides.
func FromHTTP(r *http.Request) *Request {
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
	ip := peer(r)
	if ip.IsValid() {
		headers["X-Forwarded-For"] = append(headers["X-Forwarded-For"], ip.WithZone("").String())
	}
	return &Request{Method: r.Method, Path: path, IP: ip, Headers: headers, Query: r.URL.Query()}
}

// peer returns the address of the connection; the zero Addr if there is none.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr.WithZone("") // a link-local address carries its zone
}
