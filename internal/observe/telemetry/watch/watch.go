// Package watch lists the alarms and the dashboard of a limiter on AWS. The
// construct infra/ratelimit makes them. docs/runbook.md has a section for each
// alarm.
package watch

import (
	"strings"

	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// Source says whose metrics a series is of, and by which dimensions.
type Source int

// The sources.
const (
	Limiter  Source = iota // the limiter's own: see package metric
	Rules                  // the limiter's own for each rule, in one search
	Counters               // AWS/DynamoDB, by the table of counters
	Function               // AWS/Lambda, by the function of the authorizer
	Region                 // AWS/Lambda, of all functions of the account in the region
)

// Statistics of CloudWatch.
const (
	Sum     = "Sum"
	Average = "Average" // of Lambda's Errors, which is 0 or 1 for each call: their share
	Maximum = "Maximum"
	Minimum = "Minimum"
	P50     = "p50"
	P99     = "p99"
)

// Series is a statistic of a metric in CloudWatch.
type Series struct {
	Source Source
	Metric string
	Stat   string
}

// ID returns the name of the series in formulas, such as storeLatency.
func (s Series) ID() string { return strings.ToLower(s.Metric[:1]) + s.Metric[1:] }

// Stat returns the usual statistic of a metric of the limiter: the sum of a
// counter, the 99th percentile of a distribution, and the maximum of a state over
// all environments of the Lambda.
func Stat(name string) string {
	for _, m := range metric.All {
		if m.Name == name {
			return map[metric.Kind]string{metric.Counter: Sum, metric.Histogram: P99, metric.Gauge: Maximum}[m.Kind]
		}
	}
	panic("watch: there is no metric " + name)
}

// own returns a metric of the limiter by its usual statistic.
func own(name string) Series { return Series{Limiter, name, Stat(name)} }
