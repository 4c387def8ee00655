// Package cost computes what a limiter on AWS costs in a month, from the
// requests, the rules and a dated list of prices.
//
// A bill is as complete as its list: without free tiers, discounts and taxes,
// and without what the limiter does not cause, which are the backend, data
// transfer, and the access logs of an API. Storage of tables and of logs is left
// out, because it is cents.
package cost

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
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

// Standard returns the list that this package carries.
func Standard() *Prices {
	p, err := ParsePrices("prices.json", standard)
	if err != nil {
		panic(err) // a test reads it
	}
	return p
}

// ParsePrices reads a list of prices in JSON, all of which have to be there. name
// is that of the file, for errors.
func ParsePrices(name string, text []byte) (*Prices, error) {
	var p Prices
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&p)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON object")
		}
	}
	if err == nil {
		err = p.check(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &p, nil
}

// check refuses prices that are missing in their text or make no sense.
func (p *Prices) check(text []byte) error {
	if p.Region == "" {
		return errors.New("region is missing: name the region of the prices, such as us-east-1")
	}
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		return fmt.Errorf("date %q: want the day of the prices, such as 2026-12-31", p.Date)
	}
	var given, all map[string]any
	if err := errors.Join(json.Unmarshal(text, &given), json.Unmarshal(standard, &all)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, isPrice := all[name].(float64); !isPrice {
			continue
		}
		if price, ok := given[name].(float64); !ok || price < 0 {
			return fmt.Errorf("%s: want a price in US dollars, 0 or more", name)
		}
	}
	return errors.Join(checkTiers("rest_requests", p.RESTRequests), checkTiers("http_requests", p.HTTPRequests))
}

func checkTiers(name string, tiers []Tier) error {
	from := 0.0
	for i, t := range tiers {
		last := i == len(tiers)-1
		switch {
		case t.PerMillion < 0:
			return fmt.Errorf("%s[%d].per_million: want a price in US dollars, 0 or more", name, i)
		case last != (t.UpTo == 0):
			return fmt.Errorf("%s[%d].up_to: every tier but the last ends at a number of requests", name, i)
		case !last && t.UpTo <= from:
			return fmt.Errorf("%s[%d].up_to: want more than %g, the end of the tier before", name, i, from)
		}
		from = t.UpTo
	}
	if len(tiers) == 0 {
		return fmt.Errorf(`%s is missing: write tiers such as [{"up_to": 300e6, "per_million": 1}, {"per_million": 0.9}]`, name)
	}
	return nil
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
