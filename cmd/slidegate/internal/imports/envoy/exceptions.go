package envoy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// addDeny makes an entry of deny of a limit of no requests for addresses alone.
// It reports false for any other limit.
func (im *importer) addDeny(n *node) bool {
	network, ok := n.network()
	if !ok || n.parent != nil || n.ShadowMode {
		return false
	}
	im.AddDeny(&ruledoc.Selector{CIDRs: ruledoc.Texts{network.String()}}, n.place.Name+": "+n.String())
	im.RecordOnce(n.place, "requests_per_unit: 0", "it is in deny: the answer says that the client is blocked, and names no limit")
	return true
}

// canOverride reports whether an exception for the node is of the kind that
// overrides are for: one value of the key that a more general rule counts by.
func (n *node) canOverride() bool {
	general := n.siblings.general
	if general == nil || general.rule == nil || !general.isCounted() || n.source != general.source {
		return false
	}
	if slices.Contains([]string{"path", "route", "method", everyRequest}, n.source) {
		return false
	}
	if slices.ContainsFunc(n.parent.path(), (*node).isCounted) {
		return false // the key has other parts too
	}
	return !n.isLimited() || n.ShadowMode == general.ShadowMode
}

// longestValue is the longest value that gets an override, in bytes: escaped,
// it takes three times as many.
const longestValue = 4096

// addOverride makes an exception for one value of the key that a more general
// rule counts by, or returns why it cannot.
func (im *importer) addOverride(n *node) (whyNot string) {
	value := n.sourceValue
	if n.source == "ip" {
		network, ok := n.network()
		if !ok || !network.IsSingleIP() || !network.Addr().Is4() {
			return "is not an IPv4 address: overrides are for one address, and IPv6 addresses count by their /64"
		}
		value = network.Addr().String()
	}
	rule := n.siblings.general.rule
	general, limited := rule.Limits[0], n.isLimited()
	switch {
	case len(value) > longestValue:
		return "is longer than the key of an override may be"
	case n.isClientSupplied() && (!limited || n.Limit.Requests > general.Capacity || n.Limit.window != general.Window):
		return "a client can send any value there, so no value may be limited less than the others: " +
			"map the key to what a token or an API key says"
	case limited && n.Limit.Requests == 0 && n.ShadowMode:
		return "requests_per_unit is 0, and a deny is never in shadow mode"
	}
	var o ruledoc.Override
	switch {
	case !limited:
		o.Unlimited = true
	case n.Limit.Requests == 0:
		o.Deny = true
	case n.Limit.window == general.Window:
		o.Capacity = ruledoc.Capacities{"": n.Limit.Requests}
	default:
		o.Limits = []ruledoc.Limit{n.Limit.limit()}
	}
	if !im.AddOverride(rule, n.keyPrefix()+key.Escape(value), o, n.place.Name) {
		return "another descriptor stands for the same value, and the first one applies"
	}
	return ""
}

// addUnless excepts requests from the rule of a node: those for which the
// service takes a more specific descriptor at any node of its path.
func (im *importer) addUnless(last *node) {
	if last.rule == nil {
		return
	}
	unless := criteria{}
	for _, n := range last.path() {
		if !n.isGeneral() {
			continue
		}
		var missing []string
		for _, other := range n.siblings.exact {
			if n == last && other.noUnless {
				continue
			}
			if other.whyNot != "" || !unless.widen(other.covers) {
				missing = append(missing, other.descriptor.String())
			}
		}
		if len(missing) > 0 {
			im.Record(last.place, fmt.Sprintf("rule %s: all but %s", last.rule.Name, listSome(missing)),
				"unless cannot say this exception here: the rule limits these requests too")
		}
	}
	last.rule.Unless = unless.selector()
}

// listSome lists the first few words and counts the others.
func listSome(words []string) string {
	const few = 3
	if len(words) <= few {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:few], ", "), len(words)-few)
}
