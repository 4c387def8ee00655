package request

import (
	"cmp"
	"crypto/subtle"
	"net/netip"
	"strings"
)

// ParseAddr reads an address as servers, proxies and gateways write it: with or
// without a port, brackets, quotes, blanks and a zone, such as
// "198.51.100.4:50001" or `"[2001:db8::1]:443"`. It returns the Canonical form,
// so a client has one counter, however the address is written and whatever its
// port is. It returns the zero Addr for any other text, such as "unknown" or the
// "unix:" of a Unix socket.
func ParseAddr(text string) netip.Addr {
	host, port := strings.Trim(text, "\" \t"), ""
	if end := strings.LastIndexByte(host, ']'); strings.HasPrefix(host, "[") && end > 0 {
		host, port = host[1:end], host[end+1:]
	} else if colon := strings.IndexByte(host, ':'); colon >= 0 && colon == strings.LastIndexByte(host, ':') { // more are IPv6
		host, port = host[:colon], host[colon:]
	}
	if number := strings.TrimPrefix(port, ":"); !strings.HasPrefix(number, "_") && strings.Trim(number, "0123456789") != "" {
		return netip.Addr{} // no number, and not obfuscated as RFC 7239 allows
	}
	addr, _ := netip.ParseAddr(host)
	return Canonical(addr)
}

// nat64 is the prefix of addresses that carry the IPv4 address of a client behind
// a NAT64 (RFC 6052). All of its clients would share the counter of one /64.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// shared are the private addresses of providers (RFC 6598), and of overlay networks.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Canonical returns the address by which a client counts: without a zone, and
// the IPv4 address that an IPv4-mapped address or one of NAT64 carries. RFC 6052
// forbids to translate private addresses, so these stay IPv6: they must not pass
// for the machines that rules exempt. An address of 6to4 stays IPv6 too, because
// any network that announces 2002::/16 can make up the IPv4 address in it.
func Canonical(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		all := addr.As16()
		carried := netip.AddrFrom4([4]byte(all[12:]))
		if !carried.IsPrivate() && !carried.IsLoopback() && !carried.IsLinkLocalUnicast() && !shared.Contains(carried) {
			return carried
		}
	}
	return addr
}

// CanonicalNetwork returns the network of the Canonical forms of a network's
// addresses; the zero Prefix for one that carries all IPv4 addresses, such as
// 64:ff9b::/96, whose own clients are none.
func CanonicalNetwork(network netip.Prefix) netip.Prefix {
	if addr := Canonical(network.Addr()); addr.Is4() && network.Bits() >= 96 {
		network = netip.PrefixFrom(addr, cmp.Or(network.Bits()-96, -1))
	}
	return network.Masked()
}

// AppendNetwork appends the text of what a client counts by: its IPv4 address, or
// the network of so many bits of its IPv6 address.
func AppendNetwork(dst []byte, addr netip.Addr, bits int) []byte {
	if addr.Is4() || bits == addr.BitLen() {
		return addr.AppendTo(dst)
	}
	network, _ := addr.Prefix(bits) // fails only for more bits than an address has
	return network.AppendTo(dst)
}

// ClientAddress says where to read the client's address behind proxies. The
// zero value takes the address that the gateway saw.
type ClientAddress struct {
	Hops   int    // number of proxies before the gateway that add to X-Forwarded-For, or to Forwarded
	Header string // in lower case; empty for none. With Hops it is Forwarded or empty
	// The header counts only in requests that carry the secret. Other requests
	// did not come through the proxy that sets it.
	SecretHeader, SecretEnv, Secret string
}

const (
	// CloudFrontAddress is the header in which CloudFront sends the client's address
	// and port. CloudFront is trusted if it is ClientAddress.Header.
	CloudFrontAddress = "cloudfront-viewer-address"
	// Forwarded is the list of RFC 7239, in place of X-Forwarded-For.
	Forwarded    = "forwarded"
	forwardedFor = "x-forwarded-for"
)

// Locate replaces the gateway's peer by the client's address if there are
// proxies between them. It keeps the peer if the request names no client, and
// sets Unreadable if what should name one is no address. The address of a
// request that was located before, such as a copy, is the client's.
func (a *ClientAddress) Locate(r *Request) {
	if r.located {
		return
	}
	r.located = true
	if a.Hops > 0 {
		a.countBack(r)
		return
	}
	if !a.Trusts(r) {
		return
	}
	stated := strings.Join(r.Header(a.Header), ", ") // repeated, it is no address
	address := stated
	if a.Header == CloudFrontAddress {
		address = WithoutPort(stated)
		r.Country, r.ASN = r.only("cloudfront-viewer-country"), r.only("cloudfront-viewer-asn")
	}
	if stated != "" {
		r.locate(ParseAddr(address), a.Header, stated)
	}
}

// Trusts reports whether the peer that sent the request is a proxy, whose header
// fields count.
func (a *ClientAddress) Trusts(r *Request) bool {
	return a.Hops > 0 || a.Header != "" && a.hasProxySecret(r)
}

// locate sets the client's address, or says why it is not known.
func (r *Request) locate(addr netip.Addr, header, stated string) {
	if addr.IsValid() {
		r.IP = addr
		return
	}
	r.Unreadable = header + ": " + strings.TrimSpace(stated)
}

// only returns the value of a header, "" if it is missing or repeated.
func (r *Request) only(name string) string {
	if values := r.Header(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// WithoutPort cuts the port from an address that always has one. CloudFront and
// load balancers write IPv6 addresses without brackets: "2001:db8::1:46532".
func WithoutPort(withPort string) string {
	return withPort[:max(0, strings.LastIndexByte(withPort, ':'))]
}

// hasProxySecret reports whether the request carries the secret that the proxy
// adds.
func (a *ClientAddress) hasProxySecret(r *Request) bool {
	values := r.Header(a.SecretHeader)
	return a.Secret != "" && len(values) == 1 && subtle.ConstantTimeCompare([]byte(values[0]), []byte(a.Secret)) == 1
}

// countBack takes the client's address from X-Forwarded-For or Forwarded. Each
// proxy adds the address of its caller, so countBack counts back from the
// gateway's peer, which is the last proxy. API Gateway adds the peer itself. A
// request with fewer entries has not come through all proxies.
func (a *ClientAddress) countBack(r *Request) {
	header, read, peer := forwardedFor, ParseAddr, r.Addr()
	if a.Header == Forwarded {
		header, read = Forwarded, parseForwarded
	}
	list := strings.Join(r.Header(header), ",")
	left := a.Hops
	for more, first := list != "", true; more; first = false {
		var entry string
		list, entry, more = cutLast(list, ',')
		addr := read(entry)
		if first && addr == peer && peer.IsValid() {
			continue
		}
		if left--; left == 0 {
			r.locate(addr, header, entry)
			return
		}
	}
}

// parseForwarded reads the parameter "for" of an element of Forwarded.
func parseForwarded(element string) netip.Addr {
	for more := true; more; {
		var pair string
		element, pair, more = cutLast(element, ';')
		if name, value, _ := strings.Cut(pair, "="); strings.EqualFold(strings.TrimSpace(name), "for") {
			return ParseAddr(value)
		}
	}
	return netip.Addr{}
}

// cutLast cuts the last entry off a list. It reads from the end, which the
// gateway's own proxies have written, so a quote that a client leaves open cannot
// take in their entries.
func cutLast(list string, separator byte) (before, last string, found bool) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch escaped := quoted && i > 0 && list[i-1] == '\\'; {
		case list[i] == '"' && !escaped:
			quoted = !quoted
		case list[i] == separator && !quoted:
			return list[:i], list[i+1:], true
		}
	}
	return "", list, false
}

// LastOf returns the last entry of a list such as X-Forwarded-For: the address of
// its caller, which the last proxy has added.
func LastOf(list string) string {
	_, last, _ := cutLast(list, ',')
	return last
}

// LastForwarded returns the address of the last entry of X-Forwarded-For; the
// zero Addr if it has none.
func (r *Request) LastForwarded() netip.Addr {
	return ParseAddr(LastOf(strings.Join(r.Header(forwardedFor), ",")))
}
