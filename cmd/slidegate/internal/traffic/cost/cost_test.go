package cost_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/test/golden"
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
	one := set(t, `rules: [{name: a, key: all, limit: 10/minute}]`)
	two := set(t, `rules:
  - {name: a, key: "ip:{ip}", limit: 10/minute}
  - {name: b, key: all, mode: shadow, limit: 10/minute}
  - {name: c, key: none, mode: "off", limit: 10/minute}`)
	shadow := set(t, `rules: [{name: a, key: all, mode: shadow, limit: 10/minute}, {name: b, key: all, mode: "off", limit: 10/minute}]`)
	off := set(t, `rules: [{name: a, key: all, mode: "off", limit: 10/minute}]`)
	for name, test := range map[string]struct {
		http    bool
		traffic *cost.Traffic
		want    string // requests, denied, and the dollars of each line
	}{
		"one limit": {
			// 2 M requests: 1 M at 4 and 1 M at 3. 2e6 × 10 ms × 1/4 GB. An environment reads rules 12 × 43,800 times, and logs
			// (2,048 + 1,536 + 512) × 43,800 bytes.
			false, cost.Estimate(2e6, nil),
			"2e+06 0: 7.000 0.400 5.000 1.000 0.053 0.179 18.000 4.000 3.000 = 38.632, fixed 25.000",
		},
		"an HTTP API, half denied": {
			// 1e6 × 10 ms and 1e6 × 2 ms. 130,000 reads more.
			true, cost.TrafficOf(2e6, 1e6, one, func(string) float64 { return 1e6 }),
			"2e+06 1e+06: 2.000 0.400 3.000 0.500 0.066 0.179 18.000 4.000 3.000 = 31.145, fixed 25.000",
		},
		"two rules of three are on": {
			false, cost.Estimate(2e6, two),
			"2e+06 0: 7.000 0.400 5.000 2.000 0.053 0.202 20.000 4.000 3.000 = 41.654, fixed 27.000",
		},
		"few requests keep few minutes": {
			false, cost.Estimate(1000, nil),
			"1000 0: 0.004 0.000 0.003 0.001 0.001 0.004 18.000 4.000 3.000 = 25.012, fixed 25.000",
		},
		"a flood of 60": {
			// 120 M requests: 4 + 6 + 117. 5 environments, for up to 10 requests a second each. 118 M denials take 507,400 reads and
			// 106,200 writes.
			false, cost.Estimate(2e6, nil).Flood(60),
			"1.2e+08 1.18e+08: 127.000 24.000 64.000 1.053 0.314 0.897 18.000 4.000 3.000 = 242.264, fixed 25.000",
		},
		"a flood that a shadow rule counts": {
			// 1.2e8 × 10 ms × 1/4 GB. The counter is as full as that of a rule that denies.
			false, cost.Estimate(2e6, shadow).Flood(60),
			"1.2e+08 0: 127.000 24.000 300.000 1.053 0.314 0.897 18.000 4.000 3.000 = 478.264, fixed 25.000",
		},
		"a flood past rules that are off": {
			// 5 environments read rules 12 × 43,800 times.
			false, cost.Estimate(2e6, off).Flood(60),
			"1.2e+08 0: 127.000 24.000 300.000 0.000 0.263 0.785 16.000 4.000 3.000 = 475.048, fixed 23.000",
		},
	} {
		b := cost.NewBill(round, test.http, test.traffic)
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

// second is a request a second, for a month.
var second = cost.Month.Seconds()

func month(requests float64, http bool) *cost.Bill {
	return cost.NewBill(cost.Standard(), http, cost.Estimate(requests, nil))
}

// The README states the whole price, as the list of prices has it.
func TestREADME(t *testing.T) {
	rest, http := month(second, false), month(second, true)
	busy := month(10*second, false)
	golden.CheckPart(t, "../../../../../README.md", "- **Its whole price.** ", "- **Predictable", fmt.Sprintf(`With one rule and 1 request a second, a million requests cost $%.2f behind a REST API, or $%.2f behind an HTTP
  API. API Gateway takes $%.2f or $%.2f of it; the authorizer, DynamoDB and the log take the rest. Metrics, alarms and a dashboard cost
  $%.2f a month: %.0f%% of a REST API's bill at 1 request a second, %.0f%% at 10. [`+"`slidegate cost`"+`](docs/operations.md#cost) computes yours.
`, rest.PerMillion, http.PerMillion, rest.Lines[0].Dollars/rest.Requests*1e6, http.Lines[0].Dollars/http.Requests*1e6, rest.Fixed,
		100*rest.Fixed/rest.Total, 100*busy.Fixed/busy.Total))
}

func TestAge(t *testing.T) {
	oldest, err := time.Parse(time.DateOnly, round.Date)
	if now := oldest.Add(5 * cost.Month); err != nil || round.Age(now) != 5*cost.Month || cost.Standard().Age(now) > 5*365*24*time.Hour {
		t.Errorf("%v and %v, error %v", round.Age(now), cost.Standard().Age(now), err)
	}
}

// The operations page has the bills of three months.
func TestOperations(t *testing.T) {
	prices := cost.Standard()
	flooded := cost.NewBill(prices, false, cost.Estimate(10*second, nil).Flood(60))
	bills := []*cost.Bill{month(second, false), month(10*second, false), flooded}
	var b strings.Builder
	row := func(name string, of func(*cost.Bill) float64) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, bill := range bills {
			fmt.Fprintf(&b, " %.2f |", of(bill))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "AWS's prices of %s in %s, in US dollars, for a REST API and one rule:\n\n", prices.Date, prices.Region)
	b.WriteString("| A month of | 1 request a second | 10 a second | 10, and 60 times as many in a flood |\n|---|---|---|---|\n")
	for i, l := range bills[0].Lines {
		row(l.Item, func(b *cost.Bill) float64 { return b.Lines[i].Dollars })
	}
	row("**total**", func(b *cost.Bill) float64 { return b.Total })
	row("of it fixed, whatever the requests", func(b *cost.Bill) float64 { return b.Fixed })
	row("the rest, for a million requests", func(b *cost.Bill) float64 { return b.PerMillion })
	golden.CheckPart(t, "../../../../../docs/operations.md", "<!-- cost -->\n", "<!-- end -->", b.String())
}
