package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

type inspectFlags struct {
	flags.Locations
	flags.Caller
	rule string
	json bool
}

func (c *cli) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Show a key's counters",
		Long: `Inspect shows what a key has used of each limit that counts it, when it is empty again, and how long the next
request would have to wait. It charges nothing. KEY is written as replays and logs print it, or with its
values as they are.

The override of the key applies. If limits depend on the caller's plan, or months begin on a day that the
caller's token names, give the claims.`,
		Example: `  slidegate inspect ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate inspect user:7 --claim plan=pro --rules rules.yaml --store redis://127.0.0.1:6379/0
  slidegate inspect user:7 --rule chat --rules rules.yaml --store redis://127.0.0.1:6379/0 --json`,
		Args:              flags.Positional(1, 1, "one key"),
		ValidArgsFunction: flags.InTurn(f.CounterKeys(func([]string) string { return f.rule })),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.inspect(cmd, &f, args[0]) },
	}
	f.Locations.Add(cmd, "")
	f.Caller.Add(cmd)
	cmd.Flags().StringVar(&f.rule, "rule", "", "show this `RULE`'s counter alone (default: every rule whose keys look like KEY)")
	flags.JSON(cmd, &f.json)
	flags.Complete(cmd, "rule", f.RuleNames())
	return cmd
}

// keyOptions reads the flags of a command that looks at the counters of a key.
func keyOptions(cmd *cobra.Command, where *flags.Locations, caller *flags.Caller, rule, key string) (*operator.KeyOptions, error) {
	o := &operator.KeyOptions{Rule: rule, Key: key, Request: &request.Request{}}
	err := caller.Fill(cmd, o.Request)
	if err == nil {
		o.Locations, err = where.ReadShared(cmd)
	}
	return o, err
}

func (c *cli) inspect(cmd *cobra.Command, f *inspectFlags, key string) error {
	o, err := keyOptions(cmd, &f.Locations, &f.Caller, f.rule, key)
	if err != nil {
		return err
	}
	r, err := operator.Inspect(cmd.Context(), o, c)
	return c.report(f.json, r, err, func(p *term.Printer) {
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
	})
}

func counterRows(r *operator.CounterReport, on term.Colours) (rows [][]string) {
	if r.Lifted != "" {
		return [][]string{{r.Rule, r.Lifted, "", "", "", "", "", ""}}
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		all := l.Used + l.Remaining
		bar := on.Green(term.Bar(l.Used, all))
		if l.RetryAfter != 0 {
			bar = on.Red(term.Bar(l.Used, all))
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
	for _, line := range overrideLines(r.PlanOverride) {
		remarks = append(remarks, "override of plan: "+line)
	}
	for _, line := range overrideLines(r.Override) {
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

type resetFlags struct {
	flags.Locations
	flags.Caller
	flags.Note
	json bool
}

func (c *cli) resetCommand() *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset RULE KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Empty a key's counter",
		Long: `Reset deletes what a rule has counted for a key: its next request finds an empty counter, in every process
within ten seconds, or with Redis at once. A window that was full is empty after it.

A key whose override has limits of its own has a counter of its own: Reset empties that one. If months begin
on a day that the caller's token names, give the claim.

If the rules are in a table, its history records the reset.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --why "ticket 86" --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate reset export tenant:acme --claim billing_day=15 --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args:              flags.Positional(2, 2, "a rule and a key"),
		ValidArgsFunction: flags.InTurn(f.RuleNames(), f.CounterKeys(func(args []string) string { return args[0] })),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.reset(cmd, &f, args[0], args[1]) },
	}
	f.Locations.Add(cmd, "")
	f.Caller.Add(cmd)
	cmd.Flags().StringVar(&f.Why, "why", "", "why: a `TEXT` for the history")
	cmd.Flags().StringVar(&f.Who, "who", "", "the `NAME` of who resets it (default: the user of this system)")
	flags.JSON(cmd, &f.json)
	return cmd
}

// resetNote returns what the history is to say. Only rules in a table have one.
func (f *resetFlags) resetNote(cmd *cobra.Command) (note ruletable.Note, err error) {
	where, err := f.ReadRules(cmd)
	switch {
	case err != nil:
		return note, err
	case where.RulesTable != "":
		return f.Note.ReadOptional(cmd, time.Now())
	case f.Who != "" || f.Why != "":
		err = flags.Usagef(cmd, "--who and --why are for the history of a table, and --rules is a file: leave them out")
	}
	return note, err
}

func (c *cli) reset(cmd *cobra.Command, f *resetFlags, rule, key string) error {
	note, err := f.resetNote(cmd)
	if err != nil {
		return err
	}
	o, err := keyOptions(cmd, &f.Locations, &f.Caller, rule, key)
	if err != nil {
		return err
	}
	r, err := operator.Reset(cmd.Context(), o, note, c)
	return c.report(f.json, r, err, func(p *term.Printer) {
		p.Line("reset counter %s of rule %s", r.Key, r.Rule)
	})
}
