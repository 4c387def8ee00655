// Package top reads what a limiter does now: of a server by its admin address,
// or of a Lambda by the metrics in its log.
package top

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
)

// View is what a limiter does over a span of time. Metrics have their names and
// units of package metric.
type View struct {
	Source   string             `json:"source"`
	At       time.Time          `json:"at"`     // the end of the span
	Span     float64            `json:"span_s"` // seconds
	Degraded []string           `json:"degraded,omitempty"`
	Rates    map[string]float64 `json:"rates"` // of counters, a second
	Gauges   map[string]float64 `json:"gauges"`
	P99      float64            `json:"store_p99_s,omitempty"` // 99% of StoreLatency are at most as long
	Rules    []Rule             `json:"rules"`
	// TopDenied are the keys denied most, and TopNear those nearest their limits:
	// for a server, of the latest one to two minutes.
	TopDenied []telemetry.TopKey `json:"top_denied"`
	TopNear   []telemetry.TopKey `json:"top_near"`
}

// Rule is a rule, or "NAME candidate" for the candidate capacity of one.
type Rule struct {
	Name  string             `json:"name"`
	Mode  string             `json:"mode,omitempty"` // empty if it is not known
	Rates map[string]float64 `json:"rates,omitempty"`
}

// newView returns what a limiter has done from one status to the next.
func newView(source string, before, now *admin.Status) *View {
	seconds := max(now.At.Sub(before.At).Seconds(), 0.001)
	v := &View{
		Source: source, At: now.At, Span: seconds, Degraded: now.Degraded, Rates: rates(before.Counters, now.Counters, seconds), Gauges: now.Gauges,
		P99: p99(before.Latency.Buckets, now.Latency.Buckets), Rules: []Rule{}, TopDenied: now.TopDenied, TopNear: now.TopNear,
	}
	counted := map[string]map[string]int64{}
	for _, r := range before.Rules {
		counted[r.Name] = r.Counters
	}
	for _, r := range now.Rules {
		v.Rules = append(v.Rules, Rule{r.Name, r.Mode, rates(counted[r.Name], r.Counters, seconds)})
	}
	return v
}

// rates divides what was counted by seconds, to six decimals.
func rates(before, now map[string]int64, seconds float64) map[string]float64 {
	all := make(map[string]float64, len(now))
	for name, n := range now {
		all[name] = math.Round(float64(n-before[name])/seconds*1e6) / 1e6
	}
	return all
}

// p99 returns the shortest end of a bucket that 99% of the new times do not
// exceed; 0 for none. Times of the bucket without an end count as the longest end.
func p99(before, now []admin.Bucket) float64 {
	counts, total, longest := map[float64]int64{}, int64(0), 0.0
	for _, b := range now {
		longest = max(longest, b.UpTo)
	}
	add := func(b admin.Bucket, sign int64) {
		counts[cmp.Or(b.UpTo, longest)] += sign * b.Count
		total += sign * b.Count
	}
	for _, b := range now {
		add(b, 1)
	}
	for _, b := range before {
		add(b, -1)
	}
	seen := int64(0)
	for _, end := range slices.Sorted(maps.Keys(counts)) {
		if seen += counts[end]; total > 0 && seen*100 >= total*99 {
			return end
		}
	}
	return 0
}
