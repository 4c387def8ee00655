package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// WebRefusal returns the status and the reason with which a server on loopback,
// which trusts programs of the same machine, refuses a request that a web page may
// have sent; 0 if it need not. A page in a browser there can send requests too: to
// the server's address, or to a name of its own by DNS rebinding. A server on
// another address refuses none. byProxy says that the request's fields are those
// of a proxy's client, and so may be a browser's.
func WebRefusal(r *http.Request, byProxy bool) (status int, reason string) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	switch {
	case !ok || !local.IP.IsLoopback():
		return 0, ""
	case isRebound(r.Host, local.Port, byProxy):
		return http.StatusMisdirectedRequest, rebound(r.Host)
	case !byProxy && len(r.Header["Sec-Fetch-Site"]) > 0:
		return http.StatusForbidden, "a browser sends this, as Sec-Fetch-Site says: only programs may ask"
	}
	return 0, ""
}

func rebound(host string) string {
	return fmt.Sprintf("the Host is %.260q, and a web page could have made this name stand for this machine: ask at an address such as 127.0.0.1, or at localhost", host)
}

// PageRefusal is WebRefusal for a page of this server and what that page requests: a
// person may type or bookmark the address, and the page may ask its own server. A
// browser says so by Sec-Fetch-Site, or else, over HTTP to another machine, by
// Origin with each POST. Pages of other sites, also of other ports of this
// machine, are refused wherever the server listens.
func PageRefusal(r *http.Request) (status int, reason string) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if ok && local.IP.IsLoopback() && isRebound(r.Host, local.Port, false) {
		return http.StatusMisdirectedRequest, rebound(r.Host)
	}
	const advice = ": type the address into the browser"
	sites := r.Header["Sec-Fetch-Site"]
	for _, site := range sites {
		if site != "none" && site != "same-origin" {
			return http.StatusForbidden, "a page of another site sends this, as Sec-Fetch-Site says" + advice
		}
	}
	for _, origin := range r.Header["Origin"] {
		if u, err := url.Parse(origin); len(sites) == 0 && (err != nil || !strings.EqualFold(u.Host, r.Host)) {
			return http.StatusForbidden, "a page of another site sends this, as Origin says" + advice
		}
	}
	return 0, ""
}

// isRebound reports whether a web page may have sent a request by DNS rebinding.
// The page's name then resolves to this machine, and is the Host with this
// server's port. A proxy may send the Host of its client, which has another port.
func isRebound(host string, port int, byProxy bool) bool {
	name, to, err := net.SplitHostPort(host)
	if err != nil {
		name, to = strings.Trim(host, "[]"), "80"
	}
	address, err := netip.ParseAddr(name)
	isName := err != nil && !strings.EqualFold(name, "localhost") || address.Zone() != ""
	number, err := strconv.Atoi(to)
	return isName && (!byProxy || err != nil || number == port)
}
