package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

func explainCommand(c *command.Console) *cobra.Command {
	var where command.Locations
	o := operator.ExplainOptions{Request: &request.Request{}}
	cmd := &cobra.Command{
		Use:   "explain METHOD PATH --rules FILE|dynamodb://TABLE",
		Short: "Say which rules limit a request, and why",
		Long: `Explain shows how the rules would decide one request, which you describe. For each rule it shows whether the
rule covers the request, and why not; its key and counter; the plan and the override that change its limits;
and its verdict. It charges nothing.

With --store it reads the counters; without, it takes them to be empty. With rules in a table, it also uses the
overrides that were set by command, as the table has them now.

A wait can be longer than the window: a sliding window frees a slot as a whole, one window after the slot's end.
Retry-After has the wait rounded up, such as 11 for a window of 10s with slots of 200ms.`,
		Example: `  slidegate explain GET /v1/items --ip 203.0.113.9 --rules rules.yaml
  slidegate explain POST /v1/chat --claim sub=7 --claim plan=pro -H 'X-Tokens: 900' --rules rules.yaml
  slidegate explain POST '/v1/chat?debug=1' --claims '{"sub": "7", "org": {"id": 3}}' --rules rules.yaml --json
  slidegate explain GET /users/7 --route '/users/{id}' --apikey k-17 \
      --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters`,
		Args:              command.Positional(2, 2, "a method and a path"),
		ValidArgsFunction: command.InTurn(command.OneOf("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")),
	}
	where.AddRules(cmd)
	where.AddSharedStore(cmd)
	command.Request(cmd, o.Request)
	command.Var(cmd, &o.At, "at", "the moment to decide at, a `TIME` such as 2026-12-31T23:59:00Z (default: now)", parseAt)
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.ExplainReport, error) {
		if err := command.SetTarget(o.Request, args[0], args[1]); err != nil {
			return nil, err
		}
		o.Locations = where.Locations
		return operator.Explain(ctx, &o)
	}, printExplanation)
}

func parseAt(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return at, fmt.Errorf("--at %s: want a time such as 2026-12-31T23:59:00Z, from 1970 to 2200", text)
	}
	return at, nil
}

func printExplanation(p *command.Printer, r *operator.ExplainReport) {
	p.Line("%s %s: %s", r.Method, text.Printable(r.Path), outcomeText(&r.Outcome, p.Colours))
	p.Line("")
	p.Table("ll", requestRows(r))
	apart := true
	for i := range r.Rules {
		rule := &r.Rules[i]
		if apart || rule.Covers {
			p.Line("")
		}
		apart = rule.Covers
		printRuleVerdict(p, rule)
	}
}

func outcomeText(o *operator.OutcomeReport, on command.Colours) string {
	verdict := on.Green("allowed")
	if !o.Allowed {
		verdict = on.Red("denied")
	}
	switch {
	case o.By != "" && o.RetryAfter < 0:
		return verdict + " by " + o.By + ", which can never allow what it costs"
	case o.By != "":
		return fmt.Sprintf("%s by %s, again allowed in %s", verdict, o.By, waitText(o.RetryAfter))
	case o.Why != "":
		return verdict + ": " + o.Why
	case o.Delay > 0:
		return fmt.Sprintf("%s, its turn is in %s", verdict, waitText(o.Delay))
	}
	return verdict
}

func waitText(seconds float64) string { return text.Wait(operator.Seconds(seconds)) }

// requestRows describe the request and its caller.
func requestRows(r *operator.ExplainReport) (rows command.Labelled) {
	client := cmp.Or(r.Client, "not known; give --ip")
	if r.Peer != "" {
		client += ", behind " + r.Peer
	}
	if r.Entry != "" {
		client += ", because a proxy's entry is no address: " + text.Printable(r.Entry)
	}
	rows.Add("client", client)
	rows.Add("caller", r.Caller)
	if r.Plan != nil {
		rows.Add("plan", planText(r.Plan))
		for _, line := range r.Plan.Override.Lines() {
			rows.Add("", "override of "+r.Plan.Key+": "+line)
		}
		if r.Plan.Error != "" {
			rows.Add("", text.Printable(r.Plan.Error), "limiters go on without this override")
		}
		if r.Plan.Stale {
			rows.Add("stale", "part of the override does not fit the rules as they are now, and is left out")
		}
	}
	if len(r.Rules) > 0 {
		rows.Add("counters", cmp.Or(r.Counters, "taken to be empty; give --store to read them"))
	}
	rows.Add("remark", r.Remark)
	return rows
}

func planText(p *operator.PlanReport) string {
	name := cmp.Or(p.Name, "none")
	switch {
	case p.Override != nil && p.Override.InForce && (p.Override.Deny || p.Override.Plan != ""):
		return name + ", by an override"
	case p.Why == "":
		return name + ": no override of " + p.Key
	}
	return name + ": " + p.Why
}

// printRuleVerdict prints what a rule makes of the request.
func printRuleVerdict(p *command.Printer, r *operator.RuleVerdict) {
	name := r.Rule
	if r.Mode == rules.Shadow.String() {
		name += " (shadow)"
	}
	if !r.Covers {
		p.Line("rule %s does not cover it: %s", name, r.Why)
		return
	}
	p.Line("rule %s counts it by %s", name, r.Key)
	var rows command.Labelled
	rows.Add("  remark", r.Why)
	rows.Add("  plan", r.Plan)
	rows.Add("  override", r.Override.Lines()...)
	if r.Override == nil && r.OverrideKey != "" && r.Error == "" {
		rows.Add("  override", "none for "+r.OverrideKey)
	}
	if r.Error != "" {
		rows.Add("  override", text.Printable(r.Error))
		without := "which goes on without this override"
		if r.OnError == rules.OnErrorDeny.String() {
			without = "which denies it and counts nothing"
		}
		rows.Add("  on_error", r.OnError+", "+without)
	}
	if r.Stale {
		rows.Add("  stale", "part of the override does not fit the rule as it is now, and is left out")
	}
	rows.Add("  counter", r.Counter)
	rows.Add("  local", r.Local)
	rows.Add("  verdict", r.Verdict)
	rows.Add("  warning", r.Warnings...)
	p.Table("ll", rows)
	p.Table("lrrrrrl", limitRows(r))
}

func limitRows(r *operator.RuleVerdict) (rows [][]string) {
	if len(r.Limits) > 0 {
		rows = append(rows, []string{"  limit", "maximum", "window", "cost", "remaining", "retry after", "algorithm"})
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		algorithm := l.Algorithm
		if l.CandidateCapacity > 0 {
			algorithm += ", candidate " + text.Thousands(l.CandidateCapacity)
		}
		rows = append(rows, []string{
			"  " + engine.PolicyName(r.Rule, l.Name), text.Thousands(l.Used + l.Remaining), l.WindowText(), text.Thousands(l.Cost),
			text.Thousands(l.Remaining), retryText(l.RetryAfter), algorithm,
		})
	}
	return rows
}

// retryText says when the next request would be allowed.
func retryText(seconds float64) string {
	switch {
	case seconds == 0:
		return "now"
	case seconds < 0:
		return "never"
	}
	return waitText(seconds)
}
