// Package cost computes what a limiter on AWS costs in a month, from the
// requests, the rules and a dated list of prices.
//
// A bill is as complete as its list: without free tiers, discounts and taxes,
// and without what the limiter does not cause, which are the backend, data
// transfer, and the access logs of an API. Storage of tables and of logs is left
// out, because it is cents.
package cost

import (
	_ "embed" // the prices
	"encoding/json"
	"math"
	"time"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
)

// Month is what AWS bills as a month of hours.
const Month = 730 * time.Hour

// What the limiter is assumed to take. The help of `slidegate cost` says so.
const (
	// allowedTime is how long an allowed request keeps the Lambda: a write to
	// DynamoDB, and its own work.
	allowedTime = 10 * time.Millisecond
	// deniedTime is the same for a request that an earlier answer denies.
	deniedTime = 2 * time.Millisecond
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

// Report is a month's bill, and what a flood would add.
type Report struct {
	Prices *Prices `json:"prices"`
	Month  *Bill   `json:"month"`
	Flood  *Bill   `json:"flood,omitempty"`
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
	Requests   float64 `json:"requests"`
	Denied     float64 `json:"denied"` // of these
	Lines      []Line  `json:"lines"`
	Total      float64 `json:"total"`       // dollars
	Fixed      float64 `json:"fixed"`       // of these
	PerMillion float64 `json:"per_million"` // dollars for a million requests, without the fixed sum
	Writes     float64 `json:"-"`           // write units of DynamoDB
}

// NewBill returns the bill of a month.
func NewBill(p *Prices, http bool, t *Traffic) *Bill {
	b := &Bill{Requests: rounded(t.Requests), Denied: rounded(t.Denied)}
	fixed := false
	add := func(item string, quantity float64, unit string, dollars float64) {
		l := Line{item, rounded(quantity), unit, rounded(dollars), fixed}
		b.Lines, b.Total = append(b.Lines, l), rounded(b.Total+l.Dollars)
		if fixed {
			b.Fixed = rounded(b.Fixed + l.Dollars)
		}
	}
	if http {
		add("API Gateway, HTTP API", t.Requests, "requests", price(p.HTTPRequests, t.Requests))
	} else {
		add("API Gateway, REST API", t.Requests, "requests", price(p.RESTRequests, t.Requests))
	}
	add("Lambda, requests", t.Requests, "requests", t.Requests/1e6*p.LambdaRequests)
	busy := ((t.Requests-t.Denied)*allowedTime.Seconds() + t.Denied*deniedTime.Seconds()) * predeploy.MemoryMB / 1024
	add("Lambda, time", busy, "GB-seconds", busy*p.LambdaSeconds)
	environments := max(1, math.Ceil(t.Requests/Month.Seconds()/perEnvironment))
	minutes := environments * min(Month.Minutes(), t.Requests/environments) // in which one of them has requests
	writes := t.writes + t.flooded*floodWrites
	reads := t.usual*denialReads + t.flooded*floodReads + minutes*rulesReads
	add("DynamoDB, writes", writes, "write units", writes/1e6*p.Writes)
	add("DynamoDB, reads", reads, "read units", reads/1e6*p.Reads)
	logged := minutes * float64(lineBytes+keysBytes+ruleBytes*min(mostRules, t.rules)) / 1e9
	add("CloudWatch, log", logged, "GB", logged*p.LogGB)
	b.Writes, fixed = rounded(writes), true
	metrics := float64(t.metrics + sent(func(metric.Metric) bool { return true }))
	add("CloudWatch, metrics", metrics, "metrics", metrics*p.Metric)
	alarms := float64(len(watch.Alarms(watch.Settings{}))) // each watches one metric
	add("CloudWatch, alarms", alarms, "alarms", alarms*p.Alarm)
	add("CloudWatch, dashboard", 1, "dashboard", p.Dashboard)
	b.PerMillion = rounded((b.Total - b.Fixed) / b.Requests * 1e6)
	return b
}

// rounded leaves six decimals: processors differ in those after.
func rounded(n float64) float64 { return math.Round(n*1e6) / 1e6 }

//go:embed prices.json
var standard []byte

// Prices are AWS's prices on demand in one region, in US dollars.
type Prices struct {
	Region  string            `json:"region"`
	Date    string            `json:"date"`    // of the oldest, such as 2026-12-31
	Sources map[string]string `json:"sources"` // the titles of AWS's pages, and when these prices were seen on them

	RESTRequests []Tier `json:"rest_requests"` // of REST APIs
	HTTPRequests []Tier `json:"http_requests"` // of HTTP APIs

	LambdaRequests float64 `json:"lambda_requests_per_million"`
	LambdaSeconds  float64 `json:"lambda_arm64_gb_second"`
	Writes         float64 `json:"dynamodb_writes_per_million"` // write request units
	Reads          float64 `json:"dynamodb_reads_per_million"`  // read request units
	LogGB          float64 `json:"log_gb"`                      // of a Lambda, sent to CloudWatch
	Metric         float64 `json:"metric_month"`
	Alarm          float64 `json:"alarm_month"` // for each metric that it watches
	Dashboard      float64 `json:"dashboard_month"`
}

// Tier is the price of requests up to a number of them in a month.
type Tier struct {
	UpTo       float64 `json:"up_to,omitempty"` // 0 for all others: the last tier
	PerMillion float64 `json:"per_million"`
}

// Standard returns the list of prices.json.
func Standard() *Prices {
	var p Prices
	if err := json.Unmarshal(standard, &p); err != nil {
		panic(err) // a test reads it
	}
	return &p
}

// Age returns how old the oldest price is.
func (p *Prices) Age(now time.Time) time.Duration {
	at, _ := time.Parse(time.DateOnly, p.Date) // a test reads it
	return now.Sub(at)
}

// price returns the price of a number of requests.
func price(tiers []Tier, requests float64) (dollars float64) {
	from := 0.0
	for _, t := range tiers {
		to := requests
		if t.UpTo > 0 {
			to = min(requests, t.UpTo)
		}
		dollars += max(0, to-from) / 1e6 * t.PerMillion
		from = t.UpTo
	}
	return dollars
}
