package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/top"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// watched is a limiter that can be looked at again and again.
type watched interface {
	Read(ctx context.Context, now time.Time) (*top.View, error)
}

func topCommand(c *command.Console) *cobra.Command {
	var admin string
	var stack struct{ name, id string }
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use:   "top --admin URL | --stack NAME",
		Short: "Show live what a limiter does",
		Long: `Top shows what a limiter decides, a second: requests and denials, each rule, the writes to DynamoDB, what is
degraded, the keys nearest their limits and those denied most. On a terminal it fills the screen until you
interrupt it. Elsewhere it prints one view after another, and with --once a single one.

With --admin it asks slidegate serve at the address of its --admin. The first view is of the time since the
server's start, the later ones of the time since the view before. Keys are of the latest one to two minutes.

With --stack it reads the log of the stack's Lambda, stack NAME or NAME/ID of several limiters. A Lambda writes
what it has counted in a minute with the next request after it. So a view is of the five whole minutes before
now, and what an idle Lambda holds back is missing. The rights for it are cloudformation:DescribeStacks,
lambda:GetFunctionConfiguration and logs:FilterLogEvents, which slidegate aws policy has.

Keys may be personal data.`,
		Example: `  slidegate top --admin http://127.0.0.1:9090
  slidegate top --stack slidegate
  slidegate top --admin http://127.0.0.1:9090 --once --json`,
		Args: flags.NoArguments, ValidArgsFunction: flags.NoWords,
	}
	flags.Var(cmd, &admin, "admin", "the `URL` of a server's --admin address", parseAdmin)
	flags.Var(cmd, &stack, "stack", "the `NAME` of a CloudFormation stack, or NAME/ID", func(text string) (s struct{ name, id string }, err error) {
		s.name, s.id, err = flags.ParseStack("--stack", text)
		return s, err
	})
	flags.Complete(cmd, "stack", flags.NoWords)
	flags.Var(cmd, &every, "every", "how often to look, a `DURATION` (default: 2s, and 10s with --stack)", flags.Timeout("every"))
	cmd.Flags().BoolVar(&once, "once", false, "print one view, and end")
	asJSON := flags.JSON(cmd)
	flags.Check(cmd, func() error {
		switch {
		case (admin == "") == (stack.name == ""):
			return errors.New("want one of --admin URL, for slidegate serve, and --stack NAME, for a stack on AWS")
		case every != 0 && every < 100*time.Millisecond:
			return fmt.Errorf("--every %s: want 100ms or more", text.Duration(every))
		}
		return nil
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w := &watch{out: c.Stdout, every: 2 * time.Second, json: *asJSON, once: once, screen: !once && !*asJSON && term.IsTerminal(c.Stdout)}
		if stack.name == "" {
			w.limiter = top.NewServer(admin)
		} else {
			log, err := top.OpenLog(cmd.Context(), stack.name, stack.id)
			if err != nil {
				return err
			}
			w.limiter, w.every = log, 10*time.Second
		}
		if every > 0 {
			w.every = every
		}
		return w.run(cmd.Context(), c)
	}
	return cmd
}

func parseAdmin(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", errors.New("--admin: want a URL such as http://127.0.0.1:9090")
	}
	return u.Scheme + "://" + u.Host, nil
}

// watch shows a limiter again and again.
type watch struct {
	limiter    watched
	out        io.Writer
	every      time.Duration
	once, json bool
	screen     bool // draw over the view before
}

// run ends with the context, which is no error, or with the first look if that
// fails. A later one that fails is reported, and looked for again.
func (w *watch) run(ctx context.Context, c *command.Console) error {
	for first := true; ctx.Err() == nil; first = false {
		view, err := w.limiter.Read(ctx, time.Now())
		switch {
		case ctx.Err() != nil: // what came with the interrupt is not shown any more
		case err != nil && (first || w.once):
			return err
		case err != nil:
			c.Warn("%v", err)
		default:
			if err := w.show(view, first); err != nil {
				return err
			}
		}
		if w.once {
			break
		}
		_ = clock.Sleep(ctx, w.every) // the loop sees the end of the context
	}
	return nil
}

func (w *watch) show(view *top.View, first bool) error {
	if w.json {
		return command.NewEncoder(w.out, "").Encode(view)
	}
	var buf bytes.Buffer
	if !first && !w.screen {
		buf.WriteString("\n")
	}
	printTop(term.NewPrinter(&buf), view)
	if w.screen {
		return term.Repaint(w.out.(*os.File), buf.String())
	}
	_, err := buf.WriteTo(w.out)
	return err
}

func printTop(p *term.Printer, v *top.View) {
	p.Line("%s  %s  over %s%s", v.Source, text.Stamp(v.At), brief(v.Span), rulesInForce(v))
	for _, why := range v.Degraded {
		p.Line("degraded: %s", why)
	}
	p.Line("")
	decisions, some := v.Rates[metric.Decisions]
	if !some {
		p.Line("There are no metrics of this time: no requests came, or the Lambda writes none (WithoutMetrics, or --without metrics).")
		return
	}
	share := func(name string) string { return text.Percent(v.Rates[name], decisions) }
	rate := func(name string) string { return perSecond(v.Rates[name]) }
	latency := "-"
	if v.P99 > 0 {
		latency = brief(v.P99)
	}
	p.Table("rrlrl", [][]string{
		{"a second", "", "", "", ""},
		{perSecond(decisions), "", "decisions", rate(metric.Writes), "writes to DynamoDB"},
		{rate(metric.Denied), share(metric.Denied), "denied", rate(metric.Reads), "reads"},
		{rate(metric.ShadowDenied), share(metric.ShadowDenied), "would be denied", rate(metric.NearLimit), "units above 80% of a limit"},
		{rate(metric.Degraded), share(metric.Degraded), "degraded", latency, "for 99% of the store's answers, or less"},
	})
	printTopRules(p, v.Rules)
	var near, denied [][]string
	for _, k := range v.TopNear {
		near = append(near, []string{fmt.Sprintf("%.0f%%", 100*k.Share), k.Rule, k.Key})
	}
	for _, k := range v.TopDenied {
		denied = append(denied, []string{text.Thousands(k.Count), k.Rule, k.Key})
	}
	p.Section("rll", []string{"in use", "rule", "key nearest its limit"}, near)
	p.Section("rll", []string{"denied", "rule", "key denied most"}, denied)
}

func printTopRules(p *term.Printer, rules []top.Rule) {
	var rows [][]string
	for _, r := range rules {
		mode := r.Mode
		if mode == "enforce" {
			mode = ""
		}
		rows = append(rows, []string{perSecond(r.Rates[metric.Denied]), perSecond(r.Rates[metric.ShadowDenied]), perSecond(r.Rates[metric.NearLimit]), r.Name, mode})
	}
	p.Section("rrrll", []string{"denied", "would deny", "near", "rule", ""}, rows)
}

func rulesInForce(v *top.View) string {
	said := ""
	if version := v.Gauges[metric.RulesVersion]; version > 0 {
		said = fmt.Sprintf("  rules %.0f", version)
	}
	if age, ok := v.Gauges[metric.RulesAge]; ok {
		said += "  read " + brief(age) + " ago"
	}
	return said
}

func brief(seconds float64) string { return text.Brief(time.Duration(seconds * float64(time.Second))) }

// perSecond writes a rate to about three digits.
func perSecond(rate float64) string {
	switch {
	case rate >= 100:
		return text.Thousands(int64(math.Round(rate)))
	case rate >= 1:
		return fmt.Sprintf("%.1f", rate)
	case rate > 0:
		return fmt.Sprintf("%.3f", rate)
	}
	return "0"
}
