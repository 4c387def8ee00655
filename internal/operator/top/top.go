// Package top reads what a limiter does now: of a server by its admin address,
// or of a Lambda by the metrics in its log.
package top

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/telemetry"
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

// rates divides counts by seconds, to six decimals.
func rates(counts map[string]int64, seconds float64) map[string]float64 {
	all := make(map[string]float64, len(counts))
	for name, n := range counts {
		all[name] = math.Round(float64(n)/seconds*1e6) / 1e6
	}
	return all
}

// sample is how many measured times are at most so long, and longer than those of
// the sample before.
type sample struct {
	seconds float64
	count   int64
}

// p99 returns the shortest time that 99% of the samples do not exceed; 0 for none.
func p99(samples []sample) float64 {
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.seconds, b.seconds) })
	total, seen := int64(0), int64(0)
	for _, s := range samples {
		total += s.count
	}
	for _, s := range samples {
		if seen += s.count; total > 0 && seen*100 >= total*99 {
			return s.seconds
		}
	}
	return 0
}
