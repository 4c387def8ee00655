package usageplans

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
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
	Description any        `json:"description" lost:"is for people"`
	Stages      []apiStage `json:"apiStages"`
	Throttle    *throttle  `json:"throttle"`
	Quota       *quota     `json:"quota"`
	ProductCode any        `json:"productCode" lost:"AWS Marketplace bills by it, and nothing here does"`
	Tags        any        `json:"tags" lost:"are for people, and for AWS"`

	place     imports.Place
	nameHere  string          // its name in the document; empty if nothing is left of it
	lostKinds map[string]bool // kinds of limits that could not be imported
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
	rate  big.Rat // 0 if the file states none
}

type quota struct {
	Limit  int64  `json:"limit" range:"0 2147483647"`
	Offset int64  `json:"offset" range:"0 2147483647"`
	Period string `json:"period"`

	place imports.Place
}

type apiStage struct {
	API     string               `json:"apiId"`
	Stage   string               `json:"stage"`
	Methods map[string]*throttle `json:"throttle" lost:"limits single methods: write a rule for each, with its route and its methods"`
}

// read reads the usage plans and checks them.
func (im *importer) read(f imports.File) error {
	var content page[plan]
	if s := im.Read(f, &content); s != nil {
		im.plans = items(s, &content)
		ids := map[string]bool{}
		for i := range im.plans {
			p, path := &im.plans[i], fmt.Sprintf("items[%d]", i)
			p.check(s, path)
			if ids[p.ID] {
				s.Fail(path, "plan %s is there twice: remove one of them", p)
			}
			ids[p.ID] = true
		}
	}
	return im.Err()
}

// items returns the items of a page, and records if there are more pages.
func items[T any](s *imports.Source, p *page[T]) []T {
	for path, token := range map[string]string{"position": p.Position, "NextToken": p.NextToken} {
		if token != "" {
			s.Record(s.Place(path), "the items after the last one",
				"this is one page of several: print them all, without --no-paginate and --max-items")
		}
	}
	if p.Items == nil {
		s.Fail("items", "is missing: give what the AWS CLI prints, as JSON")
		return nil
	}
	return *p.Items
}

// check checks a plan, and fills in its places and rates.
func (p *plan) check(s *imports.Source, path string) {
	p.place, p.lostKinds = s.Place(path), map[string]bool{}
	if p.ID == "" {
		s.Fail(path+".id", "is missing: give what `aws apigateway get-usage-plans` prints, as JSON")
	}
	p.Throttle.check(s, path+".throttle")
	if q := p.Quota; q != nil {
		q.place = s.Place(path + ".quota")
		if periods[q.Period] == "" {
			s.Fail(path+".quota", "period %q is none of DAY, WEEK and MONTH", imports.Short(q.Period))
		}
	}
	for i := range p.Stages {
		stage, path := p.Stages[i], fmt.Sprintf("%s.apiStages[%d]", path, i)
		what := fmt.Sprintf("plan %s: API %s, stage %s", p, imports.Show(stage.API), imports.Show(stage.Stage))
		s.Record(s.Place(path), what, "a document is for one API, and no rule can be for the stages of a plan: here the plan is for all that the API serves")
		s.RecordUnused(path, what, stage)
	}
	s.RecordUnused(path, "plan "+p.String(), *p)
}

// periods are the calendar's windows, in UTC.
var periods = map[string]string{"DAY": "1d", "WEEK": "1w", "MONTH": "1mo"}

// highestRate is the highest to which a bucket counts every rate: above it, whole
// nanoseconds for a request may be more than 1% off.
const highestRate = 1e7

func (t *throttle) check(s *imports.Source, path string) {
	if t == nil {
		return
	}
	t.place = s.Place(path)
	if t.RateLimit == "" {
		return
	}
	// JSON may write the number with an exponent, which may be too large for
	// big.Rat: a float64 bounds it.
	n, err := strconv.ParseFloat(t.RateLimit, 64)
	_, ok := t.rate.SetString(strconv.FormatFloat(n, 'f', -1, 64))
	if err != nil || !ok || n < 0 || n > highestRate {
		s.Fail(path+".rateLimit", "must be a number from 0 to %.0f, and is %q", highestRate, imports.Short(t.RateLimit))
	}
}
