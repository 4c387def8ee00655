package rules

import (
	"net/netip"

	"github.com/gaissmai/bart"
)

// prefixes is a set of networks. Finding an address takes tens of nanoseconds and allocates nothing, however many there are;
// a network takes about a hundred bytes. It is read-only, and nil is the empty set.
type prefixes struct{ table bart.Lite }

// newPrefixes returns the set of the networks in a list, which may be in any order, overlap and repeat itself.
func newPrefixes(list []netip.Prefix) *prefixes {
	if len(list) == 0 {
		return nil
	}
	p := &prefixes{}
	for _, network := range list {
		p.table.Insert(network)
	}
	return p
}

// contains reports whether an address is in any of the networks, as netip.Prefix.Contains sees it: an address of one family
// is in no network of the other, and the zero Addr is in none. An address's zone does not count.
func (p *prefixes) contains(addr netip.Addr) bool { return p != nil && p.table.Contains(addr) }
