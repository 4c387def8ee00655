package trafficcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/cost"
)

// CostCommand returns slidegate cost.
func CostCommand(c *command.Console) *cobra.Command {
	var o operator.CostOptions
	var paths []string
	var reading flags.Logs
	var api string
	cmd := &cobra.Command{
		Use:   "cost --requests N | --log FILE --rules FILE",
		Short: "Compute what a limiter on AWS costs in a month",
		Long: `Cost computes the bill of a month for an API behind the authorizer: API Gateway, the Lambda, DynamoDB and
CloudWatch, by AWS's prices on demand in one region. Free tiers, discounts and taxes are left out. So are the
backend, data transfer, access logs, cold starts, and the storage of tables and logs. Each price has a date in
the list, of which the oldest is shown.

Requests are given as a number for a month or another time, such as 2.6M, 10/s or 600k/day. --denied is how many
of them are denied. --rules or --limits says how many counters an allowed request charges: a rules file counts
as if every rule covered every request. With --log, cost replays a log through the rules instead, counts the
writes, and takes the log for a part of the month like any other. Replay describes the logs.

--flood 60 adds what a month costs in which 60 times the requests come. The limits admit no more of them, so
all others are denied. The bill has API Gateway charge denied requests like others. Staff of AWS have said that
it does not, but the page of prices does not say so.

Cheaper settings follow, by the names of the construct's props; slidegate aws deploy --without has some of them.

The prices are in the command, with their date; --prices replaces them by a file. --json shows the list:
slidegate cost --requests 1 --json | jq .prices > prices.json`,
		Example: `  slidegate cost --requests 10/s
  slidegate cost --requests 26M --denied 1% --rules rules.yaml --flood 60
  slidegate cost --log access.log.gz --rules rules.yaml --api http
  slidegate cost --requests 1M --prices prices.json --json`,
		Args: flags.NoArguments,
	}
	cmd.Flags().StringVar(&o.Rules, "rules", "", "a rules `FILE`")
	flags.Complete(cmd, "rules", flags.FilesOf("yaml", "yml", "json"))
	cmd.Flags().StringArrayVar(&paths, "log", nil, "a log of requests, a `FILE`; may be repeated")
	reading.Add(cmd)
	o.Limits = 1
	cmd.Flags().IntVar(&o.Limits, "limits", 1, "how many rules charge an allowed request, `N`, without --rules")
	flags.Var(cmd, &o.Requests, "requests", "how many requests come, a `RATE`: in a month, or as 10/s, 600/minute, 1k/hour or 2.5M/day",
		func(given string) (float64, error) { return parseRate("--requests", given) })
	flags.Var(cmd, &o.Denied, "denied", "how many of these are denied, a `RATE` or a share such as 1% (default: none)", parseDenied)
	flags.Var(cmd, &o.Flood, "flood", "the bill of a flood too, of `N` times the requests", parseFlood)
	flags.Choice(cmd, &api, "api", "the `KIND` of API: rest or http (default: rest)", "rest", "http")
	flags.Var(cmd, &o.Duration, "duration", "how long an allowed request keeps the Lambda, a `DURATION` (default: 10ms)", flags.Timeout("duration"))
	flags.Var(cmd, &o.Prices, "prices", "a `FILE` of prices in place of those of the command", readPrices)
	flags.Complete(cmd, "prices", flags.FilesOf("json"))
	flags.Check(cmd, func() error {
		changed := cmd.Flags().Changed
		switch {
		case len(paths) > 0 && o.Rules == "":
			return errors.New("--rules is missing: the rules to send the log through")
		case len(paths) > 0 && (changed("requests") || changed("denied")):
			return errors.New("--log has the requests: leave out --requests and --denied")
		case len(paths) == 0 && o.Requests == 0:
			return errors.New("--requests is missing: a number for a month, or a rate such as 10/s; or give --log and --rules")
		case changed("limits") && o.Rules != "":
			return errors.New("--rules has the limits: leave out --limits")
		case o.Limits < 0 || o.Limits > 1000:
			return fmt.Errorf("--limits %d: want 0 to 1000", o.Limits)
		case o.Denied != nil && o.Denied(o.Requests) > o.Requests:
			return errors.New("--denied: more than the requests")
		}
		return nil
	})
	return command.Reporting(c, cmd, func(ctx context.Context, _ []string) (_ *cost.Report, err error) {
		o.HTTP = api == "http"
		if o.Prices == nil {
			o.Prices = cost.Standard()
		}
		if o.Traffic, err = reading.Traffic(c.Stdin, paths); err != nil {
			return nil, err
		}
		return operator.Cost(ctx, &o, c)
	}, printCost)
}

func readPrices(file string) (*cost.Prices, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return cost.ParsePrices(file, data)
}

// parseRate reads a number of requests, and returns how many that is in a month.
// flag is the flag that has it.
func parseRate(flag, given string) (float64, error) {
	number, unit, perUnit := strings.Cut(given, "/")
	times := 1.0
	if perUnit {
		units := map[string]time.Duration{"s": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "month": cost.Month}
		times = cost.Month.Seconds() / units[unit].Seconds()
	}
	scale := map[byte]float64{'k': 1e3, 'M': 1e6, 'G': 1e9}
	if last := len(number) - 1; last > 0 && scale[number[last]] > 0 {
		times *= scale[number[last]]
		number = number[:last]
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= times; err != nil || !(n > 0) || n > 1e15 {
		return 0, fmt.Errorf("%s %s: want a number of requests in a month such as 2.6M, or a rate such as 10/s, 600/minute, 1k/hour or 2.5M/day", flag, given)
	}
	return n, nil
}

// parseDenied reads a number of requests, or a share of all.
func parseDenied(given string) (func(float64) float64, error) {
	if percent, ok := strings.CutSuffix(given, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil || !(share >= 0 && share <= 100) {
			return nil, fmt.Errorf("--denied %s: want 0%% to 100%%", given)
		}
		return func(requests float64) float64 { return requests * share / 100 }, nil
	}
	n, err := parseRate("--denied", given)
	if given == "0" {
		n, err = 0, nil
	}
	return func(float64) float64 { return n }, err
}

func parseFlood(given string) (float64, error) {
	times, err := strconv.ParseFloat(strings.TrimSuffix(given, "x"), 64)
	if err != nil || !(times > 1) || times > 1e6 {
		return 0, fmt.Errorf("--flood %s: want a number above 1, such as 60 for 60 times the requests", given)
	}
	return times, nil
}

func printCost(p *term.Printer, r *cost.Report) {
	p.Line("AWS's prices of %s in %s, on demand, without free tiers, discounts and taxes", r.Prices.Date, r.Prices.Region)
	bills, header, layout := []*cost.Bill{r.Month}, []string{"dollars", "a month"}, "rr"
	if r.Flood != nil {
		bills, layout = append(bills, &r.Flood.Bill), layout+"rr"
		header = append(header, "dollars", fmt.Sprintf("in a flood of %g ×", r.Flood.Times))
	}
	var rows [][]string
	row := func(name string, cells func(*cost.Bill) (sum float64, what string)) {
		var row []string
		for _, b := range bills {
			sum, what := cells(b)
			row = append(row, dollars(sum), what)
		}
		rows = append(rows, append(row, name))
	}
	for i, l := range r.Month.Lines {
		row(l.Item, func(b *cost.Bill) (float64, string) {
			return b.Lines[i].Dollars, text.Amount(b.Lines[i].Quantity) + " " + l.Unit
		})
	}
	row("total", func(b *cost.Bill) (float64, string) { return b.Total, "" })
	row("fixed, whatever the requests", func(b *cost.Bill) (float64, string) { return b.Fixed, text.Percent(b.Fixed, b.Total) })
	row("a million requests, without that", func(b *cost.Bill) (float64, string) { return b.PerMillion(), "" })
	p.Section(layout+"l", append(header, ""), rows)
	if r.Flood != nil {
		p.Line("\nAn hour of the flood adds $%s.", dollars(r.Flood.Hour))
	}
	printSavings(p, r.Savings)
	a := r.Assumed
	p.Line("\nAssumed: the Lambda has %d MB on arm64, works %g ms for an allowed request and %g ms for a denied one, and has\n"+
		"an environment for each %g requests a second. A denial takes %g reads; in a flood, %g reads and %g writes.",
		a.Memory, a.Duration*1e3, a.DenialDuration*1e3, a.Environment, a.DenialReads, a.FloodReads, a.FloodWrites)
}

func printSavings(p *term.Printer, savings []cost.Saving) {
	var rows [][]string
	for _, s := range savings {
		most, setting := "", s.Setting
		if s.AtMost {
			most = "at most"
		}
		if s.Rule != "" {
			setting = "rule " + s.Rule + ": " + setting
		}
		rows = append(rows, []string{most, dollars(s.Dollars), setting, s.Remark})
	}
	p.Section("rrll", []string{"", "saves", "by", "but"}, rows)
}

// dollars writes an amount of money to the cent.
func dollars(n float64) string {
	whole, cents, _ := strings.Cut(strconv.FormatFloat(n, 'f', 2, 64), ".")
	i, _ := strconv.ParseInt(whole, 10, 64)
	return text.Thousands(i) + "." + cents
}
