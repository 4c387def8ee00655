package cost

import (
	"cmp"
	"slices"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/rules"
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
	writes   float64 // write request units
	rules    int
	metrics  int     // that these rules have in CloudWatch, at most
	usual    float64 // of Denied: without those of a flood
	flooded  float64 // of Requests: those of a flood that rules in force refuse, or would
	enforces bool    // a rule does, not shadows alone
}

// Estimate returns the traffic of requests that are allowed, each by every rule:
// what rules cover of real requests, only a log can say. Without rules it is one
// rule whose counter fits a write unit.
func Estimate(requests float64, set *rules.Set) *Traffic {
	if set == nil {
		return &Traffic{Requests: requests, writes: requests, rules: 1, metrics: metricsByRule, enforces: true}
	}
	return TrafficOf(requests, 0, set, func(string) float64 { return requests })
}

// TrafficOf returns the traffic of rules. charges returns how often the counters
// of this name are charged.
func TrafficOf(requests, denied float64, set *rules.Set, charges func(counter string) float64) *Traffic {
	t := &Traffic{Requests: requests, Denied: denied, usual: denied}
	atomic := 0
	for _, r := range set.Rules {
		if r.Atomic && r.Mode != rules.Off {
			atomic++
		}
	}
	for i, r := range set.Rules {
		if r.Mode == rules.Off {
			continue
		}
		each := units(r.Limits)
		if r.Atomic && atomic > 1 || rules.InFlight(r.Limits) >= 0 {
			each *= 2 // a transaction, or another write that gives a place back
		}
		t.writes += charges(cmp.Or(set.Document().Rules[i].Counter, r.Name)) * float64(each)
		t.rules++
		t.enforces = t.enforces || r.Mode == rules.Enforce
		t.metrics += metricsByRule
		if slices.ContainsFunc(r.Candidates, func(c rules.Candidate) bool { return c != rules.Candidate{} }) {
			t.metrics++ // ShadowDenied of "NAME candidate"
		}
	}
	return t
}

// units returns how many write request units a charge of these limits takes at
// most: one for each KB of the counter. docs/protocol.md lists what it holds.
func units(limits []limit.Limit) int {
	const item, each, slot, stamp, hold = 100, 30, 10, 6, 26 // bytes
	size := int64(item)
	for i := range limits {
		l := &limits[i]
		size += each
		if l.Algorithm == limit.SlidingWindowLog {
			size += stamp * l.Capacity
		} else if l.Algorithm == limit.InFlight {
			size += hold * l.Capacity
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

// Flood returns the traffic with so many times the requests. Enforced limits let
// no more through than before, so they deny all others. Shadows count no more,
// and rules that are off nothing.
func (t *Traffic) Flood(times float64) *Traffic {
	flooded := *t
	flooded.Requests *= times
	flooded.flooded = (flooded.Requests - t.Requests) * float64(min(t.rules, 1))
	if t.enforces {
		flooded.Denied += flooded.flooded
	}
	return &flooded
}
