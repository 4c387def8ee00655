package key

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/kit/problem"
	"github.com/slidegate/slidegate/internal/request"
)

// IPv6 addresses count by a network, because a host can choose any address of
// its own. IPv4 addresses count whole.
const (
	defaultBits = request.NetworkBits // of {ip}
	wholeBits   = 128                 // of {ip/128}
	// leastBits is a provider's own network. Fewer bits are probably a mistake
	// for a network of IPv4 addresses, such as {ip/24}.
	leastBits = 32
)

// parsePrefix reads the number of {ip/64}.
func parsePrefix(text string) (p Part, wrong problem.Fault) {
	n, err := strconv.ParseUint(text, 10, 8)
	switch {
	case err != nil || n < leastBits || n > wholeBits || text[0] == '0':
		return p, problem.New(problem.KeyPrefix, text, defaultBits, leastBits, wholeBits)
	case n == defaultBits:
		return Part{Kind: FromIP}, wrong
	}
	return Part{Kind: FromIP, Text: text}, wrong
}

// bits returns how many bits of an IPv6 address count.
func (p *Part) bits() int {
	if p.Text == "" {
		return defaultBits
	}
	n, _ := strconv.Atoi(p.Text) // parsePrefix has read it
	return n
}

// Evadable returns the sources of which a client can send a new value with every
// request: those that it fills in, and addresses within its own network.
func (t *Template) Evadable() []string {
	sources := slices.Clone(t.ClientSources)
	for _, p := range t.Parts {
		if p.Kind == FromIP && p.bits() > defaultBits {
			sources = append(sources, "{"+p.String()+"}")
		}
	}
	return sources
}

// appendAddr appends an IPv4 address, or the network by which an IPv6 address
// counts.
func (p *Part) appendAddr(dst []byte, addr netip.Addr) []byte {
	if !addr.IsValid() {
		return append(dst, absent)
	}
	var text [64]byte
	return appendEscaped(dst, request.AppendNetwork(text[:0], addr, p.bits()))
}

// parseTypedAddr reads an address, or the network by which an IPv6 one counts.
func (p *Part) parseTypedAddr(text string) (netip.Addr, error) {
	if addr := request.ParseAddr(text); addr.IsValid() {
		return addr, nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil || network.Addr().Is4() || network.Bits() != p.bits() || network != request.CanonicalNetwork(network) {
		if p.bits() == wholeBits {
			return netip.Addr{}, fmt.Errorf("{%s} is an address, such as 203.0.113.9 or 2001:db8::1", p)
		}
		return netip.Addr{}, fmt.Errorf("{%s} is an address, such as 203.0.113.9, "+
			"or the /%d network of one, such as 2001:db8::/%[2]d", p, p.bits())
	}
	return network.Addr(), nil
}
