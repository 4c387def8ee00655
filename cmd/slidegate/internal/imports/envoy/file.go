package envoy

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// file is a descriptor file as src/config/config_impl.go of
// envoyproxy/ratelimit reads it.
type file struct {
	Domain      string       `json:"domain"`
	Descriptors []descriptor `json:"descriptors"`
	Name        any          `json:"name"` // the service ignores it at each level but a rate_limit's
}

type descriptor struct {
	Key             string       `json:"key"`
	Value           string       `json:"value"`
	Limit           *rateLimit   `json:"rate_limit"`
	Children        []descriptor `json:"descriptors"`
	ShadowMode      bool         `json:"shadow_mode"`
	QuotaMode       bool         `json:"quota_mode" lost:"the rule is in shadow mode, and the proxy does not learn that the quota is used up"`
	SharedThreshold bool         `json:"share_threshold"` // all values that match a star share a counter
	DetailedMetric  bool         `json:"detailed_metric" lost:"changes only the names of metrics: every decision here names its rule and key"`
	ValueToMetric   bool         `json:"value_to_metric" lost:"changes only the names of metrics: every decision here names its rule and key"`
	Metadata        any          `json:"metadata" lost:"is for the proxy, and nothing here reads it"`
	Name            any          `json:"name"`

	place imports.Place
}

type rateLimit struct {
	Unit       string `json:"unit"`
	Requests   int64  `json:"requests_per_unit" range:"0 4294967295"`
	Multiplier *int64 `json:"unit_multiplier"`
	Unlimited  bool   `json:"unlimited"`
	Name       string `json:"name"`
	Replaces   any    `json:"replaces" lost:"no rule replaces another: requests that both are for count against both"`

	window string // as rules documents have it
}

// String returns the descriptor for messages, "key=value" or "key".
func (d *descriptor) String() string {
	if d.Value == "" {
		return imports.Show(d.Key)
	}
	return imports.Show(d.Key) + "=" + imports.Show(d.Value)
}

// checkList checks a list of descriptors as the service does, and fills in
// places and windows. ids has the descriptors of earlier files for the same
// list.
func checkList(s *imports.Source, prefix string, list []descriptor, ids map[string]bool) {
	for i := range list {
		d, path := &list[i], fmt.Sprintf("%sdescriptors[%d]", prefix, i)
		d.check(s, path)
		id := d.Key + "_" + d.Value
		if ids[id] {
			s.Fail(path, "%s is there twice: remove one of them", d)
		}
		ids[id] = true
		checkList(s, path+".", d.Children, map[string]bool{})
	}
}

func (d *descriptor) check(s *imports.Source, path string) {
	d.place = s.Place(path)
	if d.Key == "" {
		s.Fail(path+".key", "is missing: write the key of the descriptor's entries")
	}
	if d.SharedThreshold && !strings.Contains(d.Value, "*") {
		s.Fail(path+".share_threshold", "needs a value that contains *")
	}
	if d.Limit != nil {
		d.Limit.check(s, path+".rate_limit")
		s.RecordUnused(path+".rate_limit", d.String(), *d.Limit)
	}
	d.ShadowMode = d.ShadowMode || d.QuotaMode
	s.RecordUnused(path, d.String(), *d)
}

// units are those of src/utils/utilities.go: windows are multiples of these
// lengths since the Unix epoch.
var units = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
}

func (l *rateLimit) check(s *imports.Source, path string) {
	unit, known := units[strings.ToLower(l.Unit)]
	switch {
	case l.Unlimited && known:
		s.Fail(path+".unit", "contradicts unlimited: remove one of them")
	case !l.Unlimited && !known:
		s.Fail(path, "unit %q is none of second, minute, hour, day, week, month and year", imports.Short(l.Unit))
	}
	multiplier := time.Duration(1)
	if l.Multiplier != nil {
		multiplier = time.Duration(*l.Multiplier)
	}
	if most := ruledoc.MaxWindow / max(unit, time.Second); multiplier < 1 || multiplier > most {
		s.Fail(path+".unit_multiplier", "must be a whole number from 1 to %d", most)
		return
	}
	l.window = ruledoc.FormatDuration(multiplier * unit)
}

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
	case n.source == "ip":
		network, ok := n.network()
		if !ok {
			n.whyNot = "is no address or network"
		}
		n.covers = criterion{"cidrs", network.String()}
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
