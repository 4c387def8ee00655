package cost

import (
	_ "embed" // the prices
	"encoding/json"
)

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

// price returns what so many requests cost.
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
