package trafficcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
	"github.com/slidegate/slidegate/internal/rules"
)

// CostCommand returns slidegate cost.
func CostCommand(c *command.Console) *cobra.Command {
	var requests, flood float64
	var file, api string
	cmd := &cobra.Command{
		Use:   "cost --requests RATE",
		Short: "Compute what a limiter on AWS costs in a month",
		Long: `Cost computes the bill of a month for an API behind the authorizer: API Gateway, the Lambda, DynamoDB and
CloudWatch, by AWS's prices on demand in one region. Free tiers, discounts and taxes are left out. So are the
backend, data transfer, access logs, cold starts, and the storage of tables and logs. Each price has a date in
the list that --json shows, of which the oldest is shown.

Each rule of --rules counts as one that covers every request and allows it. slidegate replay FILE --report OUT has
the bill of recorded traffic. --flood 60 adds the bill of a month with 60 times the requests. Enforced rules admit
no more of them, so they deny all others; shadow rules deny none. In the bill, API Gateway charges for denied
requests as for others. Staff of AWS have said that it does not, but the page of prices does not say so.

The bill is for a Lambda of 256 MB on arm64, which takes 10 ms for an allowed request and 2 ms for a denied one,
with an environment for each 10 requests a second.`,
		Example: `  slidegate cost --requests 10/s
  slidegate cost --requests 26e6 --rules rules.yaml --flood 60 --api http`,
		Args: command.NoArguments,
	}
	command.Var(cmd, &requests, "requests", "how many requests come, a `RATE`: in a month, such as 26e6, or as 10/s", parseRate)
	cmd.Flags().StringVar(&file, "rules", "", "a rules `FILE` (default: one rule)")
	command.Complete(cmd, "rules", command.FilesOf("yaml", "yml", "json"))
	cmd.Flags().Float64Var(&flood, "flood", 1, "the bill of a flood too, of `N` times the requests")
	command.Choice(cmd, &api, "api", "the `KIND` of API: rest or http (default: rest)", "rest", "http")
	command.Refuse(cmd, func() bool { return requests == 0 }, "--requests is missing: a number for a month, or a rate such as 10/s")
	command.Refuse(cmd, func() bool { return !(flood >= 1 && flood <= 1e6) }, "--flood: want a number above 1, such as 60 for 60 times the requests")
	return command.Reporting(c, cmd, func(context.Context, []string) (*cost.Report, error) {
		var set *rules.Set
		if file != "" {
			var err error
			if set, _, err = session.ReadRules(file); err != nil {
				return nil, err
			}
		}
		prices, traffic := cost.Standard(), cost.Estimate(requests, set)
		r := &cost.Report{Prices: prices, Month: cost.NewBill(prices, api == "http", traffic)}
		if flood > 1 {
			r.Flood = cost.NewBill(prices, api == "http", traffic.Flood(flood))
		}
		return r, nil
	}, printCost)
}

// parseRate reads a number of requests, and returns how many that is in a month.
func parseRate(given string) (float64, error) {
	number, perSecond := strings.CutSuffix(given, "/s")
	n, err := strconv.ParseFloat(number, 64)
	if perSecond {
		n *= cost.Month.Seconds()
	}
	if err != nil || !(n > 0) || n > 1e15 {
		return 0, fmt.Errorf("--requests %s: want a number of requests in a month such as 2.6e6, or a rate such as 10/s", given)
	}
	return n, nil
}

func printCost(p *command.Printer, r *cost.Report) {
	p.Line("AWS's prices of %s in %s, on demand, without free tiers, discounts and taxes", r.Prices.Date, r.Prices.Region)
	if months := int(r.Prices.Age(time.Now()) / cost.Month); months > 3 {
		p.Line("the oldest price is %d months old: compare it with AWS's page; --json has the date of each", months)
	}
	printBill(p, "a month", r.Month)
	if r.Flood != nil {
		printBill(p, "a month of a flood", r.Flood)
	}
}

func printBill(p *command.Printer, header string, b *cost.Bill) {
	dollars := func(n float64) string { return fmt.Sprintf("%.2f", n) }
	var rows [][]string
	for _, l := range b.Lines {
		rows = append(rows, []string{dollars(l.Dollars), text.Amount(l.Quantity) + " " + l.Unit, l.Item})
	}
	p.Section("rrl", []string{"dollars", header, ""}, append(rows,
		[]string{dollars(b.Total), "", "total"},
		[]string{dollars(b.Fixed), text.Percent(b.Fixed, b.Total), "fixed, whatever the requests"},
		[]string{dollars(b.PerMillion), "", "a million requests, without that"}))
}
