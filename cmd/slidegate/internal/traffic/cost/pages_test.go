package cost_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// second is a request a second, for a month.
var second = cost.Month.Seconds()

func month(requests float64, http bool) *cost.Bill {
	return cost.NewBill(cost.Standard(), http, cost.Estimate(requests, nil))
}

// The README states the whole price, as the list of prices has it.
func TestREADME(t *testing.T) {
	rest, http := month(second, false), month(second, true)
	busy := month(10*second, false)
	golden.CheckPart(t, "../../../../../README.md", "- **Its whole price.** ", "- **Predictable", fmt.Sprintf(`A million requests cost $%.2f behind a REST API, of which API Gateway takes $%.2f, or $%.2f behind an
  HTTP API. That includes the authorizer, DynamoDB for one rule, and the log. Metrics, alarms and a dashboard cost at most
  $%.2f a month: %.0f%% of the bill at 1 request a second, and %.0f%% at 10. [`+"`slidegate cost`"+`](docs/operations.md#cost) computes yours.
`, rest.PerMillion, rest.Lines[0].Dollars/rest.Requests*1e6, http.PerMillion, rest.Fixed, 100*rest.Fixed/rest.Total, 100*busy.Fixed/busy.Total))
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
