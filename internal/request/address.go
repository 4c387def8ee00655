package request

import (
	"crypto/subtle"
	"net/netip"
	"strings"
)

// ClientAddress says where to read the client's address behind proxies. The
// zero value takes the address that the gateway saw.
type ClientAddress struct {
	Hops   int    // how many proxies that add to X-Forwarded-For stand before the gateway
	Header string // in lower case; empty for none
	// The header counts only in requests that carry the secret: others did not
	// come through the proxy that sets it.
	SecretHeader, SecretEnv, Secret string
}

// Locate replaces the gateway's peer by the client's address if there are
// proxies between them.
func (a *ClientAddress) Locate(r *Request) {
	switch {
	case a.Header != "":
		if a.isVouched(r) {
			a.takeHeader(r)
		}
	case a.Hops > 0:
		a.takeForwarded(r)
	}
}

// isVouched reports whether the request carries the secret that the proxy adds.
func (a *ClientAddress) isVouched(r *Request) bool {
	values := r.Header(a.SecretHeader)
	return a.Secret != "" && len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), []byte(a.Secret)) == 1
}

func (a *ClientAddress) takeHeader(r *Request) {
	values := r.Header(a.Header)
	if len(values) != 1 {
		return
	}
	if addr, ok := parseAddr(values[0]); ok {
		r.IP = addr
	}
}

// takeForwarded counts back from the gateway's peer, which is the last proxy:
// each proxy has added its own caller to X-Forwarded-For. API Gateway adds the
// peer itself. A request with fewer entries has not come through all proxies,
// and keeps the address that the gateway saw.
func (a *ClientAddress) takeForwarded(r *Request) {
	entries := strings.Split(strings.Join(r.Header("x-forwarded-for"), ","), ",")
	if last, ok := parseAddr(entries[len(entries)-1]); ok && last == r.IP.Unmap().WithZone("") {
		entries = entries[:len(entries)-1]
	}
	if n := len(entries) - a.Hops; n >= 0 && n < len(entries) {
		if addr, ok := parseAddr(entries[n]); ok {
			r.IP = addr
		}
	}
}

// parseAddr reads an address, without a port as proxies write it.
func parseAddr(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSpace(text))
	return addr.Unmap().WithZone(""), err == nil
}
