package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func inspectCommand(c *command.Console) *cobra.Command {
	var f counterFlags
	cmd := &cobra.Command{
		Use:   "inspect [RULE] KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Show a key's counters",
		Long: `Inspect shows what a key has used of each limit that counts it, when it is empty again, and how long the next
request would have to wait. It charges nothing. KEY is written as replays and logs print it, or with its
values as they are. Without RULE it shows the counter of every rule whose keys look like KEY.

The override of the key applies. If limits depend on the caller's plan, or months begin on a day that the
caller's token names, give the claims.`,
		Example: `  slidegate inspect ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate inspect user:7 --claim plan=pro --rules rules.yaml --store redis://127.0.0.1:6379/0
  slidegate inspect chat user:7 --rules rules.yaml --store redis://127.0.0.1:6379/0 --json`,
		Args:              command.Positional(1, 2, "a rule and a key, or a key alone"),
		ValidArgsFunction: command.InTurn(f.where.RuleNames),
	}
	f.add(cmd)
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.InspectReport, error) {
		last := len(args) - 1
		return operator.Inspect(ctx, f.options(strings.Join(args[:last], ""), args[last]), c)
	}, printCounters)
}

// counterFlags are for commands on the counters of a key.
type counterFlags struct {
	operator.KeyOptions
	where command.Locations
}

func (f *counterFlags) add(cmd *cobra.Command) {
	f.Request = &request.Request{}
	f.where.AddRules(cmd)
	f.where.AddSharedStore(cmd)
	f.where.RequireStore(cmd)
	command.Caller(cmd, f.Request)
}

// options returns the options for a key of a rule, or of all rules that have it.
func (f *counterFlags) options(rule, key string) *operator.KeyOptions {
	f.Locations, f.Rule, f.Key = f.where.Locations, rule, key
	return &f.KeyOptions
}

func printCounters(p *command.Printer, r *operator.InspectReport) {
	rows := [][]string{{"limit", "maximum", "window", "used", "remaining", "empty in", "retry after", ""}}
	var remarks []string
	for i := range r.Rules {
		rows = append(rows, counterRows(&r.Rules[i], p.Colours)...)
		remarks = append(remarks, counterRemarks(&r.Rules[i])...)
	}
	p.Table("lrrrrrrl", rows)
	for _, remark := range remarks {
		p.Line("%s", remark)
	}
}

func counterRows(r *operator.CounterReport, on command.Colours) (rows [][]string) {
	if r.Lifted != "" {
		return [][]string{{r.Rule, r.Lifted, "", "", "", "", "", ""}}
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		all := l.Used + l.Remaining
		bar := on.Green(text.Bar(l.Used, all))
		if l.RetryAfter != 0 {
			bar = on.Red(text.Bar(l.Used, all))
		}
		rows = append(rows, []string{
			engine.PolicyName(r.Rule, l.Name), text.Thousands(all), l.WindowText(), text.Thousands(l.Used), text.Thousands(l.Remaining),
			waitText(l.Reset), retryText(l.RetryAfter), bar,
		})
	}
	return rows
}

// counterRemarks say which overrides the numbers come from.
func counterRemarks(r *operator.CounterReport) (remarks []string) {
	for _, line := range r.PlanOverride.Lines() {
		remarks = append(remarks, "override of plan: "+line)
	}
	for _, line := range r.Override.Lines() {
		remarks = append(remarks, "override of "+r.Rule+": "+line)
	}
	return append(append(remarks, notKnown(rules.PlanOverrides, r.PlanOverrideUnknown)...), notKnown(r.Rule, r.OverrideUnknown)...)
}

// notKnown remarks on an override whose key is not known; nothing if no source
// of the key is missing.
func notKnown(rule string, missing []string) []string {
	if len(missing) == 0 {
		return nil
	}
	remark := fmt.Sprintf("override of %s: not known, for its key holds %s", rule, strings.Join(missing, ", "))
	if flags := operator.FlagsFor(missing); flags != "" {
		remark += "; give " + flags
	}
	return []string{remark}
}

func resetCommand(c *command.Console) *cobra.Command {
	var f counterFlags
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "reset RULE KEY --why TEXT --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Empty a key's counter",
		Long: `Reset deletes what a rule has counted for a key: its next request finds an empty counter. Each process
notices that within ten seconds, and may deny until then.

A key whose override has limits of its own has a counter of its own: Reset empties that one. If months begin
on a day that the caller's token names, give the claim.

If the rules are in a table, its history records who reset the counter and why, and --why is required. Nothing
records the reset with rules in a file, so --who and --why are refused.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --why "ticket 86" --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate reset export tenant:acme --claim billing_day=15 --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args:              command.Positional(2, 2, "a rule and a key"),
		ValidArgsFunction: command.InTurn(f.where.RuleNames),
	}
	f.add(cmd)
	command.Refuse(cmd, func() bool { return f.where.RulesTable == "" && note.Who+note.Why != "" },
		"--who and --why are for the history of a table, and --rules is a file: leave them out")
	command.OptionalNote(cmd, &note, "why: a `TEXT` for the history (required if the rules are in a table)", "resets it")
	command.Refuse(cmd, func() bool { return f.where.RulesTable != "" && note.Why == "" }, "--why is missing: give a reason for the history")
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.ResetReport, error) {
		return operator.Reset(ctx, f.options(args[0], args[1]), note, c)
	}, func(p *command.Printer, r *operator.ResetReport) {
		if r.Table == "" {
			p.Line("reset counter %s of rule %s; nothing records it, because the rules are in a file", r.Key, r.Rule)
			return
		}
		p.Line("reset counter %s of rule %s: %s (%s), in the history of table %s", r.Key, r.Rule, r.Why, r.Who, r.Table)
	})
}
