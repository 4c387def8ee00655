package envoy

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// node is a descriptor together with what it stands for.
type node struct {
	*descriptor
	meaning
	parent   *node // nil at the top
	siblings *siblings
	// covers selects the node's requests; it is zero if the node is for all
	// values, or if no selector can cover them. whyNot says why then.
	covers criterion
	whyNot string
	rule   *imports.Rule // of the node's limit, if there is one
	// noUnless keeps the node out of the field unless of the general rule beside
	// it: an override or an entry of deny makes the exception, or the import has
	// recorded that it is lost.
	noUnless bool
}

// path returns the nodes from the top down to n.
func (n *node) path() []*node {
	if n == nil {
		return nil
	}
	return append(n.parent.path(), n)
}

// String returns the path for messages, such as "tenant=acme > user".
func (n *node) String() string {
	var words []string
	for _, on := range n.path() {
		words = append(words, on.descriptor.String())
	}
	return strings.Join(words, " > ")
}

// isGeneral reports whether the node matches every value.
func (n *node) isGeneral() bool { return n.Value == "" }

// isCounted reports whether each value that matches has its own counter.
func (n *node) isCounted() bool { return n.source != everyRequest && n.isGeneral() }

// isClientSupplied reports whether clients choose the value freely.
func (n *node) isClientSupplied() bool {
	p, wrong := key.ParseSource(n.source)
	return p.Kind.IsClient() && !wrong.Found()
}

// isVerified reports whether the value comes from the caller's credentials.
func (n *node) isVerified() bool {
	p, _ := key.ParseSource(n.source)
	return p.OfCredentials()
}

// isLimited reports whether the node has a limit of its own.
func (n *node) isLimited() bool { return n.Limit != nil && !n.Limit.Unlimited }

// liftsLimits reports whether the node exempts its requests from limits.
func (n *node) liftsLimits() bool {
	return !n.isLimited() && (n.Limit != nil || len(n.Children) == 0)
}

// siblings are the nodes of one list that have the same key. For a request the
// service takes the exact node of its value, else general.
type siblings struct {
	exact   []*node
	general *node
}

// add adds a node. A file has at most one general node of a key.
func (s *siblings) add(n *node) {
	n.siblings = s
	if n.isGeneral() {
		s.general = n
	} else {
		s.exact = append(s.exact, n)
	}
}

// resolve sets covers, or whyNot.
func (n *node) resolve() {
	switch {
	case n.source == everyRequest || n.isGeneral():
		return
	case n.source == "path" || n.source == "route":
		switch {
		case !strings.HasPrefix(n.sourceValue, "/"):
			n.whyNot = "a path begins with a slash"
		case strings.Contains(n.sourceValue, "?"):
			n.whyNot = "patterns do not see the query string"
		}
		n.covers = criterion{n.source, path.Clean(n.sourceValue)}
	case n.source == "method":
		n.covers = criterion{"methods", n.sourceValue}
	case n.isVerified():
		n.covers = criterion{n.source, n.sourceValue}
		return
	case n.isClientSupplied():
		n.whyNot = "a client can send any value there, so no rule can be for one value: map the key to what a token or an API key says"
	default:
		n.whyNot = fmt.Sprintf("no rule can be for one value of %s alone: an override can, beside a limit for all values in the same mode", n.source)
	}
	if n.whyNot == "" {
		n.whyNot = imports.Refused("all", criteria{n.covers.field: {n.covers.value}}.selector())
	}
	if n.whyNot != "" {
		n.covers = criterion{}
	}
}

// network returns the client addresses that the node is for, as rules count
// them. It reports false if the node is for anything but one address or network.
func (n *node) network() (network netip.Prefix, ok bool) {
	network, err := netip.ParsePrefix(n.sourceValue)
	if addr, notAddr := netip.ParseAddr(n.sourceValue); notAddr == nil && addr.Zone() == "" {
		network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	own := request.CanonicalNetwork(network)
	return own, err == nil && n.source == "ip" && network == network.Masked() && own.IsValid()
}
