package rules

import (
	"net/netip"
	"slices"
)

// lookup holds the entries of deny or skip. Entries that name only networks, of
// which there may be very many, share one set; the others are asked one by one.
type lookup struct {
	networks *prefixes
	others   []*selector
}

// newLookup returns the lookup of a list of selectors, which must not change
// afterwards.
func newLookup(list []selector) *lookup {
	l := &lookup{}
	var networks []netip.Prefix
	for i := range list {
		if s := &list[i]; s.onlyNetworks() {
			networks = append(networks, s.cidrs...)
		} else {
			l.others = append(l.others, s)
		}
	}
	l.networks = newPrefixes(networks)
	return l
}

// cover reports whether any of them covers the request.
func (l *lookup) cover(r *Request) bool {
	return l.networks.contains(r.work().addr) || slices.ContainsFunc(l.others, func(s *selector) bool { return s.covers(r) })
}

// coverExactly reports whether any of them covers the request exactly.
func (l *lookup) coverExactly(r *Request) bool {
	return l.networks.contains(r.work().addr) || slices.ContainsFunc(l.others, func(s *selector) bool { return s.coversExactly(r) })
}

func (s *selector) onlyNetworks() bool {
	rest := *s
	rest.cidrs = nil
	return len(s.cidrs) > 0 && rest.everything()
}
