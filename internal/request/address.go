package request

import (
	"crypto/subtle"
	"net/netip"
	"strings"
)

// ClientAddress says where to read the client's address behind proxies. The
// zero value takes the address that the gateway saw.
type ClientAddress struct {
	Hops   int    // number of proxies before the gateway that add to X-Forwarded-For
	Header string // in lower case; empty for none
	// The header counts only in requests that carry the secret. Other requests
	// did not come through the proxy that sets it.
	SecretHeader, SecretEnv, Secret string
}

// CloudFrontAddress is the header in which CloudFront sends the client's address
// and port. CloudFront is trusted if it is ClientAddress.Header.
const CloudFrontAddress = "cloudfront-viewer-address"

// Locate replaces the gateway's peer by the client's address if there are
// proxies between them. It keeps the peer if the request names no client. The
// address of a request that was located before, such as a copy, is the client's.
func (a *ClientAddress) Locate(r *Request) {
	if r.located {
		return
	}
	r.located = true
	var stated string
	switch {
	case a.Header == "":
		stated = a.forwarded(r)
	case !a.hasProxySecret(r):
	case a.Header == CloudFrontAddress:
		stated = withoutPort(r.only(a.Header))
		r.Country, r.ASN = r.only("cloudfront-viewer-country"), r.only("cloudfront-viewer-asn")
	default:
		stated = r.only(a.Header)
	}
	if stated == "" { // netip would make an error of it
		return
	}
	if addr, ok := parseAddr(stated); ok {
		r.IP = addr
	}
}

// only returns the value of a header, "" if it is missing or repeated.
func (r *Request) only(name string) string {
	if values := r.Header(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// withoutPort cuts the port from an address. CloudFront writes IPv6 addresses
// without brackets: "2001:db8::1:46532".
func withoutPort(withPort string) string {
	address := withPort[:max(0, strings.LastIndexByte(withPort, ':'))]
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

// hasProxySecret reports whether the request carries the secret that the proxy
// adds.
func (a *ClientAddress) hasProxySecret(r *Request) bool {
	values := r.Header(a.SecretHeader)
	return a.Secret != "" && len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), []byte(a.Secret)) == 1
}

// forwarded returns the client's entry in X-Forwarded-For; "" if there is none.
// Each proxy adds the address of its caller, so forwarded counts back from the
// gateway's peer, which is the last proxy. API Gateway adds the peer itself. A
// request with fewer entries has not come through all proxies.
func (a *ClientAddress) forwarded(r *Request) string {
	if a.Hops == 0 {
		return ""
	}
	entries := strings.Split(strings.Join(r.Header("x-forwarded-for"), ","), ",")
	if last, ok := parseAddr(entries[len(entries)-1]); ok && last == r.IP.Unmap().WithZone("") {
		entries = entries[:len(entries)-1]
	}
	if len(entries) < a.Hops {
		return ""
	}
	return entries[len(entries)-a.Hops]
}

// parseAddr reads an address, without a port as proxies write it.
func parseAddr(written string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSpace(written))
	return addr.Unmap().WithZone(""), err == nil
}
