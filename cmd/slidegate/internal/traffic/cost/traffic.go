package cost

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

// What a denied request takes, by the tests that docs/accuracy.md lists: the
// recorded log for usual denials, 60 times the limit on five processes for a
// flood. Most denials need no call.
const (
	denialReads = 0.13
	floodReads  = 0.0043
	floodWrites = 0.0009
)

// Traffic is what a limiter decides in a month.
type Traffic struct {
	Requests float64
	Denied   float64 // of these
	Rules    []Charges
	Metrics  int // that these rules have in CloudWatch, at most

	flooded float64 // of Denied: those of a flood
}

// Charges are the charges of a rule.
type Charges struct {
	Rule    string  // empty for rules that are not known
	Charges float64 // a month
	Units   int     // write request units of a charge
	rule    *rules.Rule
	doc     *ruledoc.Rule
}

// Estimate returns the traffic of requests, each of which so many rules charge
// if it is allowed.
func Estimate(requests, denied float64, limits int) *Traffic {
	charges := slices.Repeat([]Charges{{Charges: requests - denied, Units: 1}}, limits)
	return &Traffic{Requests: requests, Denied: denied, Metrics: limits * metricsByRule, Rules: charges}
}

// EstimateRules is Estimate for rules each of which covers every request: what
// they cover of real requests, only a log can say.
func EstimateRules(requests, denied float64, set *rules.Set) *Traffic {
	return newTraffic(requests, denied, set, func(string) float64 { return requests - denied })
}

// newTraffic returns the traffic of rules. charges returns how often the counters
// of this name are charged.
func newTraffic(requests, denied float64, set *rules.Set, charges func(counter string) float64) *Traffic {
	t := &Traffic{Requests: requests, Denied: denied}
	atomic, document := 0, set.Document()
	for i, r := range set.Rules {
		if r.Mode == rules.Off {
			continue
		}
		if r.Atomic {
			atomic++
		}
		doc := &document.Rules[i]
		t.Rules = append(t.Rules, Charges{r.Name, charges(cmp.Or(doc.Counter, r.Name)), Units(r.Limits), r, doc})
		t.Metrics += metricsByRule
		if slices.ContainsFunc(r.Candidates, func(c rules.Candidate) bool { return c != rules.Candidate{} }) {
			t.Metrics++ // ShadowDenied of "NAME candidate"
		}
	}
	for i := range t.Rules {
		if c := &t.Rules[i]; c.rule.Atomic && atomic > 1 {
			c.Units *= 2 // a transaction
		}
	}
	return t
}

// Units returns how many write request units a charge of these limits takes at
// most: one for each KB of the counter. docs/protocol.md lists what it holds.
func Units(limits []limit.Limit) int {
	const item, each, slot, stamp = 100, 30, 10, 6 // bytes
	size := int64(item)
	for i := range limits {
		l := &limits[i]
		size += each
		if l.Algorithm == limit.SlidingWindowLog {
			size += stamp * l.Capacity
		} else {
			size += slot * min(l.Slots()+1, l.Capacity) // a slot without units is not stored
		}
	}
	return int((size + 1023) / 1024)
}

// metricsByRule is how many metrics a rule has at most: a rule denies or is a
// shadow. One that is not sent costs nothing.
var metricsByRule = sent(func(m metric.Metric) bool { return m.ByRule }) - 1

// sent counts the metrics of a kind that a Lambda sends.
func sent(is func(metric.Metric) bool) (n int) {
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 && is(m) {
			n++
		}
	}
	return n
}

// Flood returns the traffic with so many times the requests. The limits let no
// more through than before, so all others are denied.
func (t *Traffic) Flood(times float64) *Traffic {
	flooded := *t
	flooded.Requests *= times
	flooded.flooded = flooded.Requests - t.Requests
	flooded.Denied += flooded.flooded
	return &flooded
}

// calls returns the units that charges and denials write and read.
func (t *Traffic) calls() (writes, reads float64) {
	for _, c := range t.Rules {
		writes += c.Charges * float64(c.Units)
	}
	writes += t.flooded * floodWrites
	reads = (t.Denied-t.flooded)*denialReads + t.flooded*floodReads
	return writes, reads
}

// merges reports whether two rules could be one with the limits of both: they
// have the same key, and cover the same requests in the same way.
func (c *Charges) merges(other *Charges) bool {
	a, b := *c.doc, *other.doc
	a.Name, a.Limit, a.Limits = b.Name, b.Limit, b.Limits
	return !a.Atomic && reflect.DeepEqual(a, b) && len(c.rule.Limits)+len(other.rule.Limits) <= limit.MaxLimits
}

// leases reports whether a rule without a lease could have one.
func (c *Charges) leases() bool {
	return c.rule.Lease == 0 && !c.rule.Atomic && !slices.ContainsFunc(c.rule.Limits, func(l limit.Limit) bool { return !l.Correctable() })
}
