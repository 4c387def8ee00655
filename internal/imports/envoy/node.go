package envoy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/imports"
)

// node is a descriptor together with what it stands for.
type node struct {
	*descriptor
	meaning
	siblings *siblings
	// covers selects the node's requests; it is zero if the node is for all
	// values, or if no selector can cover them. whyNot says why then.
	covers criterion
	whyNot string
	rule   *imports.Rule // of the node's limit, if there is one
	// excepted says that more general rules of the same list need no unless
	// for the node: an override or a deny does it, or nothing can.
	excepted bool
}

// siblings are the nodes of one list that have the same key. For a request the
// service takes the exact node of its value, else the first of wild that
// matches, else general.
type siblings struct {
	exact, wild []*node
	general     *node
}

func (n *node) isWild() bool { return strings.Contains(n.sourceValue, "*") }

// isGeneral reports whether the node matches every value.
func (n *node) isGeneral() bool { return strings.Trim(n.Value, "*") == "" }

// isCounted reports whether each value that matches has its own counter.
func (n *node) isCounted() bool {
	return n.source != everyRequest && !n.SharedThreshold && (n.isGeneral() || n.isWild())
}

// isClientSupplied reports whether clients choose the value freely.
func (n *node) isClientSupplied() bool {
	kind, _, _ := strings.Cut(n.source, ".")
	return kind == "header" || kind == "query" || kind == "path" && n.source != "path" || kind == "method"
}

// isVerified reports whether the value comes from the caller's credentials.
func (n *node) isVerified() bool {
	return n.source == "apikey" || strings.HasPrefix(n.source, "jwt.")
}

// isLimited reports whether the node has a limit of its own.
func (n *node) isLimited() bool { return n.Limit != nil && !n.Limit.Unlimited }

// liftsLimits reports whether the node exempts its requests from limits.
func (n *node) liftsLimits() bool {
	return !n.isLimited() && (n.Limit != nil || len(n.Children) == 0)
}

// join adds a node. If that makes two general nodes, it returns the one that
// the service never takes: a wildcard comes before no value at all.
func (f *siblings) join(n *node) (unreachable *node) {
	n.siblings = f
	switch {
	case !n.isGeneral() && n.isWild():
		f.wild = append(f.wild, n)
	case !n.isGeneral():
		f.exact = append(f.exact, n)
	case f.general == nil:
		f.general = n
	case f.general.Value == "":
		unreachable, f.general = f.general, n
	default:
		unreachable, n.siblings = n, nil
	}
	return unreachable
}

// isException reports whether the rule of a more general sibling covers the
// node's requests too.
func (n *node) isException() bool {
	f := n.siblings
	return slices.ContainsFunc(append(slices.Clone(f.wild), f.general), func(o *node) bool {
		return o != nil && o.rule != nil && slices.Contains(o.moreSpecific(), n)
	})
}

// hasGeneralSibling reports whether the node could be an exception.
func (n *node) hasGeneralSibling() bool {
	return n.siblings.general != nil || len(n.siblings.wild) > 0
}

// moreSpecific returns the siblings that the service takes before this node for
// some of its values.
func (n *node) moreSpecific() []*node {
	f := n.siblings
	switch {
	case n.isGeneral():
		return append(slices.Clone(f.exact), f.wild...)
	case !n.isWild():
		return nil
	}
	var first []*node
	for _, e := range f.exact {
		if wildcardMatches(n.Value, e.Value) {
			first = append(first, e)
		}
	}
	for _, w := range f.wild[:slices.Index(f.wild, n)] {
		if mayOverlap(w.Value, n.Value) {
			first = append(first, w)
		}
	}
	return first
}

// resolve sets covers, or whyNot.
func (n *node) resolve() {
	switch {
	case n.source == everyRequest || n.isGeneral():
		return
	case n.source == "path" || n.source == "route":
		var pattern string
		if pattern, n.whyNot = pathPattern(n.sourceValue); n.whyNot == "" {
			n.cover(criterion{n.source, pattern})
		}
	case n.isWild():
		n.whyNot = "values are compared whole here: list the values one by one"
	case n.source == "method":
		n.cover(criterion{"methods", n.sourceValue})
	case n.isVerified():
		n.covers = criterion{n.source, n.sourceValue}
	case n.isClientSupplied():
		n.whyNot = "a client can send any value there, so no rule can be for one value: map the key to what a token or an API key says"
	default:
		n.whyNot = fmt.Sprintf("no rule can be for one value of %s alone: an override can, beside a limit for all values in the same mode", n.source)
	}
}

// cover sets covers if rules accept the criterion.
func (n *node) cover(c criterion) {
	selector := criteria{c.field: {c.value}}.selector()
	if n.whyNot = imports.Refused("all", selector); n.whyNot == "" {
		n.covers = c
	}
}

// network returns an address or a network as deny has it, and the address as
// the keys of overrides have it: only single IPv4 addresses have a key.
func (n *node) network() (cidr, key string, ok bool) {
	if c, err := netip.ParsePrefix(n.sourceValue); err == nil && c == c.Masked() && !c.Addr().Is4In6() {
		return c.String(), "", true
	}
	addr, err := netip.ParseAddr(n.sourceValue)
	if err != nil || addr.Zone() != "" || addr.Is4In6() {
		return "", "", false
	}
	if addr.Is4() {
		key = addr.String()
	}
	return netip.PrefixFrom(addr, addr.BitLen()).String(), key, true
}
