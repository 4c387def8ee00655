// Package report writes what the bench measured: a table for a terminal, and
// docs/performance.md with its JSON and charts.
package report

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"

	"github.com/slidegate/slidegate/bench/compare/exact"
	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// Data is all that a run measured.
type Data struct {
	Machine  Machine          `json:"machine"`
	Results  []measure.Result `json:"results"`
	Exact    []exact.Result   `json:"exact"`
	Bytes    []Bytes          `json:"bytes"`
	Versions []Version        `json:"versions"`
	// Rounds bounded the rounds of each case; 0 for no bound.
	Rounds int `json:"rounds"`
	// Failures name the cases without results, and why.
	Failures []string `json:"failures"`
	// Lambda compares the authorizer with a hello-world function that makes the
	// same call: what `bench/start -json` printed, if it ran.
	Lambda []LambdaRow `json:"lambda"`
	// Starts is the Markdown that bench/start printed, if it ran.
	Starts string `json:"starts"`
}

// Machine is where and when a run was.
type Machine struct {
	Date   string `json:"date"` // 2026-12-31
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	System string `json:"system"`
	Go     string `json:"go"`
	// Load is the average number of processes that wanted to run, before the
	// run; "" where the system does not say.
	Load string `json:"load"`
}

// LambdaRow is a figure of both functions. Ratio is the median of the rounds'
// ratios; Target is the most that it should be, 0 for no target.
type LambdaRow struct {
	Case      string  `json:"case"`
	Unit      string  `json:"unit"`
	Bare      float64 `json:"bare"`
	Slidegate float64 `json:"slidegate"`
	Ratio     float64 `json:"ratio"`
	Target    float64 `json:"target,omitempty"`
}

// Bytes is the memory that a subject takes for a key.
type Bytes struct {
	Subject string  `json:"subject"`
	Keys    int     `json:"keys"`
	Bytes   float64 `json:"bytes"`
}

// Version is a subject with the version of its module.
type Version struct {
	subject.About
	Version string `json:"version"`
}

// Read adds what bench/start has printed: a table in Markdown, and a comparison
// as JSON. A name is "" for none.
func (d *Data) Read(starts, lambda string) error {
	if starts != "" {
		text, err := os.ReadFile(starts)
		if err != nil {
			return err
		}
		d.Starts = string(text)
	}
	if lambda == "" {
		return nil
	}
	return readJSON(lambda, &d.Lambda)
}

// Load reads the JSON of an earlier run.
func Load(name string) (*Data, error) {
	d := &Data{}
	return d, readJSON(name, d)
}

func readJSON(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// find returns the result of a subject in a case.
func (d *Data) find(id, name string) (measure.Result, bool) {
	i := slices.IndexFunc(d.Results, func(r measure.Result) bool { return r.Case == id && r.Subject == name })
	if i < 0 {
		return measure.Result{}, false
	}
	return d.Results[i], true
}

// Group returns the results of a table or a chart, by case.
func (d *Data) Group(name string) (cases [][]measure.Result) {
	for _, r := range d.Results {
		if r.Group != name {
			continue
		}
		if n := len(cases); n > 0 && cases[n-1][0].Case == r.Case {
			cases[n-1] = append(cases[n-1], r)
		} else {
			cases = append(cases, []measure.Result{r})
		}
	}
	return cases
}

// points returns the results of a chart by their place in it.
func (d *Data) points(chart string) [][]measure.Result {
	points := d.Group(chart)
	slices.SortFunc(points, func(a, b []measure.Result) int { return cmp.Compare(a[0].X, b[0].X) })
	return points
}

// Prices of DynamoDB on demand in us-east-1, in dollars for a million units, as
// of November 2026: https://aws.amazon.com/dynamodb/pricing/on-demand/
const (
	writePrice = 0.625
	readPrice  = 0.125
)

// dollars returns what a million decisions cost, if no item is above 1 KB.
func dollars(r *measure.Result) float64 { return r.Writes*writePrice + r.Reads*readPrice }
