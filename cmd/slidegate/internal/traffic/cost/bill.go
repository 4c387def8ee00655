package cost

import (
	"cmp"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// Month is what AWS bills as a month of hours.
const Month = 730 * time.Hour

// What the limiter is assumed to take; Options and a log replace some of it.
const (
	// standardDuration is how long an allowed request keeps the Lambda: a write to
	// DynamoDB, and its own work.
	standardDuration = 10 * time.Millisecond
	// denialDuration is the same for a request that an earlier answer denies.
	denialDuration = 2 * time.Millisecond
	// perEnvironment is how many requests a second an environment of the Lambda
	// gets.
	perEnvironment = 10
	// rulesReads is how many reads look for new rules in a minute, in each
	// environment that has requests.
	rulesReads = 12
	// The bytes that an environment logs in a minute with requests, at most.
	lineBytes, keysBytes, ruleBytes = 2048, 1536, 512
	mostRules                       = 20 // lines in a minute
)

// Options say what to compute a bill for.
type Options struct {
	Prices   *Prices
	HTTP     bool          // an HTTP API; else a REST API
	Duration time.Duration // of an allowed request in the Lambda; 0 for 10 ms
	Flood    float64       // times the requests; 0 for none
}

// Line is an item of a bill.
type Line struct {
	Item     string  `json:"item"`
	Quantity float64 `json:"quantity"`
	Unit     string  `json:"unit"`
	Dollars  float64 `json:"dollars"`
	Fixed    bool    `json:"fixed,omitempty"` // whatever the number of requests
}

// Bill is what a month costs.
type Bill struct {
	Requests float64 `json:"requests"`
	Denied   float64 `json:"denied"` // of these
	Lines    []Line  `json:"lines"`
	Total    float64 `json:"total"` // dollars
	Fixed    float64 `json:"fixed"` // of these
}

// PerMillion returns what a million requests cost without the fixed sum; 0
// without requests.
func (b *Bill) PerMillion() float64 {
	if b.Requests == 0 {
		return 0
	}
	return rounded((b.Total - b.Fixed) / b.Requests * 1e6)
}

// bill computes the bill of a month.
func bill(o *Options, t *Traffic) *Bill {
	b := &Bill{Requests: rounded(t.Requests), Denied: rounded(t.Denied)}
	fixed := false
	add := func(item string, quantity float64, unit string, dollars float64) {
		l := Line{item, rounded(quantity), unit, rounded(dollars), fixed}
		b.Lines, b.Total = append(b.Lines, l), rounded(b.Total+l.Dollars)
		if fixed {
			b.Fixed = rounded(b.Fixed + l.Dollars)
		}
	}
	p := o.Prices
	if o.HTTP {
		add("API Gateway, HTTP API", t.Requests, "requests", price(p.HTTPRequests, t.Requests))
	} else {
		add("API Gateway, REST API", t.Requests, "requests", price(p.RESTRequests, t.Requests))
	}
	add("Lambda, requests", t.Requests, "requests", t.Requests/1e6*p.LambdaRequests)
	busy := (t.Requests-t.Denied)*cmp.Or(o.Duration, standardDuration).Seconds() + t.Denied*denialDuration.Seconds()
	add("Lambda, time", busy*predeploy.MemoryMB/1024, "GB-seconds", busy*predeploy.MemoryMB/1024*p.LambdaSeconds)
	environments, minutes := environments(t.Requests)
	writes, reads := t.calls()
	reads += environments * minutes * rulesReads
	add(WritesItem, writes, "write units", writes/1e6*p.Writes)
	add("DynamoDB, reads", reads, "read units", reads/1e6*p.Reads)
	logged := environments * minutes * float64(lineBytes+keysBytes+ruleBytes*min(mostRules, len(t.Rules))) / 1e9
	add(logItem, logged, "GB", logged*p.LogGB)
	fixed = true
	metrics := float64(t.Metrics + sent(func(metric.Metric) bool { return true }))
	add(metricsItem, metrics, "metrics", metrics*p.Metric)
	alarms := float64(len(watch.Alarms(watch.Settings{}))) // each watches one metric
	add(alarmsItem, alarms, "alarms", alarms*p.Alarm)
	add(dashboardItem, 1, "dashboard", p.Dashboard)
	return b
}

// WritesItem is the item of a bill that limits change most.
const WritesItem = "DynamoDB, writes"

// The items that savings name.
const logItem, metricsItem, alarmsItem, dashboardItem = "CloudWatch, log", "CloudWatch, metrics", "CloudWatch, alarms", "CloudWatch, dashboard"

// rounded leaves six decimals: processors differ in those after.
func rounded(n float64) float64 { return math.Round(n*1e6) / 1e6 }

// environments returns how many environments of the Lambda so many requests a
// month keep, and in how many minutes each of them has requests.
func environments(requests float64) (n, minutes float64) {
	n = max(1, math.Ceil(requests/Month.Seconds()/perEnvironment))
	return n, min(Month.Minutes(), requests/n)
}
