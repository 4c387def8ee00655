package envoy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// addRule makes a rule of a node's limit.
func (im *importer) addRule(n *node) {
	r := ruledoc.Rule{Limits: []ruledoc.Limit{n.Limit.limit()}}
	if n.ShadowMode {
		r.Mode = "shadow"
	}
	if whyNot := im.setRequests(&r, n); whyNot != "" {
		im.Record(n.place, n.String(), whyNot)
		return
	}
	var words []string
	if n.Limit.Name != "" {
		words = append(words, n.Limit.Name)
	} else {
		for _, n := range n.path() {
			words = append(words, n.Key, n.Value)
		}
	}
	r.Name = im.names.Take(words...)
	n.rule = im.AddRule(n.place, r, n.place.Name+": "+n.String())
}

func (l *rateLimit) limit() ruledoc.Limit {
	return ruledoc.Limit{Algorithm: "fixed_window", Capacity: l.Requests, Window: l.window}
}

// setRequests sets the requests that a rule covers and the rule's key, or returns
// why it cannot.
func (im *importer) setRequests(r *ruledoc.Rule, last *node) (whyNot string) {
	if r.Limits[0].Capacity == 0 {
		return "requests_per_unit is 0: a limit is at least 1, and the import writes deny for addresses alone"
	}
	when := criteria{}
	var parts []string
	for _, n := range last.path() {
		if n.whyNot != "" {
			return n.whyNot
		}
		if n.covers.field != "" && !when.narrow(n.covers) {
			return fmt.Sprintf("it asks for two values of %s at once", n.source)
		}
		if n.isCounted() {
			parts = append(parts, n.keyPart())
		}
		if n.covers.field == "" && n.isVerified() {
			when.narrow(criterion{"caller", "known"})
		}
		im.recordDifferences(n)
	}
	r.When = when.selector()
	if r.Key = cmp.Or(strings.Join(parts, "|"), "all"); len(r.Key) > longestKey {
		return "its key would be too long: map its keys to shorter names"
	}
	return ""
}

// longestKey is the longest key template of a rules document, in bytes.
const longestKey = 256

// keyPart returns the part of a key template that the node's values fill.
func (n *node) keyPart() string {
	source := n.source
	if source == "path" {
		source = "route"
	}
	return n.keyPrefix() + "{" + source + "}"
}

var notInKey = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// keyPrefix returns the descriptor's key with a colon, in the characters and
// the length that a template allows.
func (n *node) keyPrefix() string {
	name := notInKey.ReplaceAllString(n.Key, "-")
	return name[:min(len(name), 32)] + ":"
}

// recordDifferences records how a rule counts differently from the service.
func (im *importer) recordDifferences(n *node) {
	if n.covers.field == "path" {
		im.RecordOnce(n.place, "the exact spelling of paths",
			"patterns ignore letter case and what cleaning changes, so that clients cannot "+
				"evade them: /X and /x/ are /x, and /x/** covers /x; the query string, which Envoy's :path has, does not count")
	}
	switch {
	case n.isCounted() && n.source == "path":
		im.RecordOnce(n.place, "a counter for each path", "here each route of the gateway has one, whatever the query string: a client can invent any number of paths")
	case n.isCounted() && strings.EqualFold(n.Key, "masked_remote_address"):
		im.RecordOnce(n.place, "the mask of addresses", "it is in the proxy's configuration: here each IPv4 address counts alone, and each /64 of IPv6 addresses")
	case n.isCounted() && n.source == "ip":
		im.RecordOnce(n.place, "IPv6 addresses one by one", "here they count by their /64: a host can choose any address in it")
	case n.isVerified() && n.covers.field == "":
		im.RecordOnce(n.place, "callers without "+n.source, "the proxy does not count them: here known callers without it share one counter")
	case n.isGeneral() && n.isClientSupplied() && n.source != "method":
		im.RecordOnce(n.place, "requests without "+n.source, "the proxy does not count them: here they share one counter")
	}
}

// criterion is one field of a selector and a value for it. The zero criterion
// covers all requests.
type criterion struct {
	field string // methods, route, path or caller, or a source for match
	value string
}

// criteria are a selector by its fields: all fields must match, by any of their
// values.
type criteria map[string][]string

// narrow adds a field. It reports false if the field has another value already.
func (c criteria) narrow(by criterion) bool {
	if values, ok := c[by.field]; ok {
		return slices.Equal(values, []string{by.value})
	}
	c[by.field] = []string{by.value}
	return true
}

// widen adds requests, to none at first. It reports false if one selector
// cannot cover these too.
func (c criteria) widen(by criterion) bool {
	if by.field == "" || len(c) > 0 && c[by.field] == nil {
		return false
	}
	c[by.field] = append(c[by.field], by.value)
	return true
}

// selector returns nil for no criteria.
func (c criteria) selector() *ruledoc.Selector {
	if len(c) == 0 {
		return nil
	}
	s := &ruledoc.Selector{Methods: c["methods"], Route: c["route"], Path: c["path"], Caller: c["caller"], CIDRs: ruledoc.Texts(c["cidrs"])}
	for field, values := range c {
		if !slices.Contains([]string{"methods", "route", "path", "caller", "cidrs"}, field) {
			if s.Match == nil {
				s.Match = map[string]ruledoc.Words{}
			}
			s.Match[field] = values
		}
	}
	return s
}

// addDeny makes an entry of deny of a limit of no requests for addresses alone.
// It reports false for any other limit.
func (im *importer) addDeny(n *node) bool {
	network, ok := n.network()
	if !ok || n.parent != nil || n.ShadowMode {
		return false
	}
	im.Comment(fmt.Sprintf("deny[%d]", len(im.Deny)), n.place.Name+": "+n.String())
	im.Deny = append(im.Deny, ruledoc.Selector{CIDRs: ruledoc.Texts{network.String()}})
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
	if network, ok := n.network(); n.source == "ip" && ok && !(network.IsSingleIP() && network.Addr().Is4()) {
		return false // overrides are for one address, and IPv6 addresses count by their /64
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
		if !ok {
			return n.whyNot
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
