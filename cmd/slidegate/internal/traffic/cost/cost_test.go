package cost_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// round is a list of prices that are easy to multiply.
var round = &cost.Prices{
	Region: "x", Date: "2026-01-01",
	RESTRequests: []cost.Tier{{UpTo: 1e6, PerMillion: 4}, {UpTo: 3e6, PerMillion: 3}, {PerMillion: 1}}, HTTPRequests: []cost.Tier{{PerMillion: 1}},
	LambdaRequests: 0.2, LambdaSeconds: 0.001, Writes: 0.5, Reads: 0.1, LogGB: 1, Metric: 1, Alarm: 0.5, Dashboard: 3,
}

func set(t *testing.T, text string) *rules.Set {
	t.Helper()
	s, err := rulefile.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each line is computed by hand from the round prices.
func TestBill(t *testing.T) {
	two := set(t, `rules:
  - {name: a, key: "ip:{ip}", limit: 10/minute}
  - {name: b, key: all, mode: shadow, limit: 10/minute}
  - {name: c, key: none, mode: "off", limit: 10/minute}`)
	for name, test := range map[string]struct {
		options cost.Options
		traffic *cost.Traffic
		want    string // requests, denied, and the dollars of each line
	}{
		"one limit": {
			// 2 M requests: 1 M at 4 and 1 M at 3. 2e6 × 10 ms × 1/4 GB. An environment reads rules 12 × 43,800 times, and logs
			// (2,048 + 1,536 + 512) × 43,800 bytes.
			cost.Options{}, cost.Estimate(2e6, 0, 1),
			"2e+06 0: 7.000 0.400 5.000 1.000 0.053 0.179 18.000 4.000 3.000 = 38.632, fixed 25.000",
		},
		"an HTTP API, half denied, 20 ms": {
			// 1e6 × 20 ms and 1e6 × 2 ms. 130,000 reads more.
			cost.Options{HTTP: true, Duration: 20 * time.Millisecond}, cost.Estimate(2e6, 1e6, 1),
			"2e+06 1e+06: 2.000 0.400 5.500 0.500 0.066 0.179 18.000 4.000 3.000 = 33.645, fixed 25.000",
		},
		"two rules of three are on": {
			cost.Options{}, cost.EstimateRules(2e6, 0, two),
			"2e+06 0: 7.000 0.400 5.000 2.000 0.053 0.202 20.000 4.000 3.000 = 41.654, fixed 27.000",
		},
		"few requests keep few minutes": {
			cost.Options{}, cost.Estimate(1000, 0, 1),
			"1000 0: 0.004 0.000 0.003 0.001 0.001 0.004 18.000 4.000 3.000 = 25.012, fixed 25.000",
		},
		"a flood of 60": {
			// 120 M requests: 4 + 6 + 117. 5 environments, for up to 10 requests a second each. 118 M denials take 507,400 reads and
			// 106,200 writes.
			cost.Options{Flood: 60}, cost.Estimate(2e6, 0, 1),
			"1.2e+08 1.18e+08: 127.000 24.000 64.000 1.053 0.314 0.897 18.000 4.000 3.000 = 242.264, fixed 25.000",
		},
	} {
		test.options.Prices = round
		r := cost.NewReport(&test.options, test.traffic)
		b := r.Month
		if r.Flood != nil {
			b = &r.Flood.Bill
			if hour := (b.Total - r.Month.Total) / 730; math.Abs(r.Flood.Hour-hour) > 1e-6 {
				t.Errorf("%s: an hour adds %g, want %g", name, r.Flood.Hour, hour)
			}
		}
		var lines []string
		for _, l := range b.Lines {
			lines = append(lines, fmt.Sprintf("%.3f", l.Dollars))
		}
		got := fmt.Sprintf("%g %g: %s = %.3f, fixed %.3f", b.Requests, b.Denied, strings.Join(lines, " "), b.Total, b.Fixed)
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

// TestSavings: each setting of rules is named with what a million charges save.
func TestSavings(t *testing.T) {
	for text, want := range map[string]string{
		`{name: a, key: all, limit: 10/minute}`:                                                                                                                    "lease: 100 of a saves at most 0.495",
		`{name: a, key: all, limit: 10/minute, lease: 100}`:                                                                                                        "",
		`{name: a, key: all, limit: {algorithm: token_bucket, capacity: 10, window: 1m}}`:                                                                          "",
		`{name: a, key: all, limit: {algorithm: sliding_window_log, capacity: 500, window: 1m}}`:                                                                   "fewer slots or limits of a saves at most 1.500",
		`{name: a, key: all, lease: 5, limits: [{name: m, capacity: 100, window: 1m}, {name: h, capacity: 100, window: 1h}]}`:                                      "fewer slots or limits of a saves at most 0.500",
		`{name: a, key: all, atomic: true, limit: 10/minute}, {name: b, key: two, atomic: true, limit: 10/minute}`:                                                 "no atomic of a saves 0.500, no atomic of b saves 0.500",
		`{name: a, key: all, atomic: true, limit: 10/minute}`:                                                                                                      "",
		`{name: a, key: all, lease: 5, limits: [{name: m, capacity: 9, window: 1m}]}, {name: b, key: all, lease: 5, limits: [{name: h, capacity: 9, window: 1h}]}`: "one rule with the limits of a of b saves 0.500",
		`{name: a, key: all, lease: 5, limit: 10/minute}, {name: b, key: two, lease: 5, limit: 10/minute}`:                                                         "",
	} {
		r := cost.NewReport(&cost.Options{Prices: round, HTTP: true}, cost.EstimateRules(1e6, 0, set(t, "rules: ["+text+"]")))
		var got []string
		for _, s := range r.Savings {
			if s.Rule != "" {
				most := ""
				if s.AtMost {
					most = "at most "
				}
				got = append(got, fmt.Sprintf("%s of %s saves %s%.3f", s.Setting, s.Rule, most, s.Dollars))
			}
		}
		if joined := strings.Join(got, ", "); joined != want {
			t.Errorf("%s:\n got %s\nwant %s", text, joined, want)
		}
	}
}

// The other settings save what their lines cost, and an HTTP API the difference.
func TestSettings(t *testing.T) {
	r := cost.NewReport(&cost.Options{Prices: round}, cost.Estimate(2e6, 0, 1))
	want := map[string]float64{"WithoutMetrics": 23.179, "an HTTP API": 5, "WithoutAlarms": 4, "WithoutDashboard": 3}
	for i, s := range r.Savings {
		if math.Abs(s.Dollars-want[s.Setting]) > 0.001 || i > 0 && s.Dollars > r.Savings[i-1].Dollars {
			t.Errorf("%s saves %g, want %g, the largest first", s.Setting, s.Dollars, want[s.Setting])
		}
		delete(want, s.Setting)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestPrices(t *testing.T) {
	whole := `{"region": "x", "date": "2026-01-01", "rest_requests": [{"up_to": 1, "per_million": 2}, {"per_million": 1}], "http_requests": [{"per_million": 0}],
"lambda_requests_per_million": 0, "lambda_arm64_gb_second": 0, "dynamodb_writes_per_million": 0, "dynamodb_reads_per_million": 0, "log_gb": 0,
"metric_month": 0, "alarm_month": 0, "dashboard_month": 0}`
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"region": "x", `, ``, "region is missing"},
		{`2026-01-01`, `May 2026`, "want the day of the prices"},
		{`"log_gb": 0,`, ``, "log_gb: want a price"},
		{`"log_gb": 0`, `"log_gb": -1`, "log_gb: want a price"},
		{`"log_gb"`, `"log"`, `unknown field "log"`},
		{`"up_to": 1, `, ``, "rest_requests[0].up_to: every tier but the last"},
		{`"up_to": 1, `, `"up_to": -1, `, "rest_requests[0].up_to: want more than 0"},
		{`{"per_million": 1}]`, `{"per_million": -1}]`, "rest_requests[1].per_million"},
		{`[{"per_million": 0}]`, `[]`, "http_requests is missing"},
		{`"dashboard_month": 0}`, `"dashboard_month": 0} x`, "something follows"},
	} {
		_, err := cost.ParsePrices("prices.json", []byte(strings.Replace(whole, test.old, test.new, 1)))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), "prices.json: ") || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s → %s: %v, want %q", test.old, test.new, err, test.want)
		}
	}
}
