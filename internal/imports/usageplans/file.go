package usageplans

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/slidegate/slidegate/internal/imports"
)

// page is what the AWS CLI prints of a list.
type page[T any] struct {
	Items     *[]T   `json:"items"`
	Position  string `json:"position"`
	NextToken string `json:"NextToken"`
}

// plan is a usage plan (Amazon API Gateway API reference, UsagePlan).
type plan struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description any        `json:"description"`
	Stages      []apiStage `json:"apiStages"`
	Throttle    *throttle  `json:"throttle"`
	Quota       *quota     `json:"quota"`
	ProductCode any        `json:"productCode"`
	Tags        any        `json:"tags"`

	place      imports.Place
	nameHere   string          // its name in the document
	capacities map[shape]int64 // of its limits
	lostKinds  []string        // kinds of limits that could not be imported
	isWritten  bool            // the document has it
}

// String returns the plan for messages, "name (id)".
func (p *plan) String() string {
	if p.Name == "" {
		return imports.Show(p.ID)
	}
	return imports.Show(p.Name) + " (" + imports.Show(p.ID) + ")"
}

// throttle is a token bucket.
type throttle struct {
	RateLimit string `json:"rateLimit"` // requests per second, a decimal number
	Burst     int64  `json:"burstLimit" range:"0 2147483647"`

	place imports.Place
	rate  *big.Rat // nil if the file states none, or 0
}

type quota struct {
	Limit  int64  `json:"limit" range:"0 2147483647"`
	Offset int64  `json:"offset" range:"0 2147483647"`
	Period string `json:"period"`

	place  imports.Place
	window string // the period as rules documents have it
}

type apiStage struct {
	API     string               `json:"apiId"`
	Stage   string               `json:"stage"`
	Methods map[string]*throttle `json:"throttle"` // by paths and methods, such as "/pets/GET"

	place imports.Place
}

// fileReader checks a file, and fills in places, rates and windows.
type fileReader struct {
	*imports.Source
	*imports.Losses
}

// items returns the items of a page, and records if there are more pages.
func items[T any](r *fileReader, p *page[T]) []T {
	for path, token := range map[string]string{"position": p.Position, "NextToken": p.NextToken} {
		if token != "" {
			r.Record(r.Place(path), "the items after the last one", "this is one page of several: print them all, without --no-paginate and --max-items")
		}
	}
	if p.Items == nil {
		r.Fail("items", "is missing: give what the AWS CLI prints, as JSON")
		return nil
	}
	return *p.Items
}

func (r *fileReader) checkPlan(path string, p *plan) {
	p.place, p.capacities = r.Place(path), map[shape]int64{}
	if p.ID == "" {
		r.Fail(path+".id", "is missing: give what `aws apigateway get-usage-plans` prints, as JSON")
	}
	r.checkThrottle(path+".throttle", p.Throttle)
	r.checkQuota(path+".quota", p.Quota)
	for i := range p.Stages {
		s, path := &p.Stages[i], fmt.Sprintf("%s.apiStages[%d]", path, i)
		s.place = r.Place(path)
		for _, method := range slices.Sorted(maps.Keys(s.Methods)) {
			r.checkThrottle(path+".throttle."+method, s.Methods[method])
		}
	}
	for _, f := range []struct {
		name, why string
		value     any
	}{
		{"description", "is for people", p.Description},
		{"productCode", "AWS Marketplace bills by it, and nothing here does", p.ProductCode},
		{"tags", "are for people, and for AWS", p.Tags},
	} {
		if f.value != nil {
			r.Record(r.Place(path+"."+f.name), fmt.Sprintf("plan %s: %s", p, f.name), f.why)
		}
	}
}

// highestRate is one request per nanosecond, the most that a bucket counts.
const highestRate = 1e9

func (r *fileReader) checkThrottle(path string, t *throttle) {
	if t == nil {
		return
	}
	t.place = r.Place(path)
	if t.RateLimit == "" {
		return
	}
	// JSON may write the number with an exponent, which may be too large for
	// big.Rat: a float64 bounds it.
	n, err := strconv.ParseFloat(t.RateLimit, 64)
	rate, ok := new(big.Rat).SetString(strconv.FormatFloat(n, 'f', -1, 64))
	if err != nil || !ok || n < 0 || n > highestRate {
		r.Fail(path+".rateLimit", "must be a number from 0 to %.0f, and is %q", highestRate, imports.Short(t.RateLimit))
		return
	}
	if rate.Sign() > 0 {
		t.rate = rate
	}
}

// periods are the calendar's windows, in UTC.
var periods = map[string]string{"DAY": "1d", "WEEK": "1w", "MONTH": "1mo"}

func (r *fileReader) checkQuota(path string, q *quota) {
	if q == nil {
		return
	}
	q.place = r.Place(path)
	if q.window = periods[q.Period]; q.window == "" {
		r.Fail(path, "period %q is none of DAY, WEEK and MONTH", imports.Short(q.Period))
	}
}
