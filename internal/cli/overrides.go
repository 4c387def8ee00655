package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) overridesCommand() *cobra.Command {
	cmd := group("overrides", "Change the limits of single keys, without publishing rules",
		c.overridesGetCommand(), c.overridesSetCommand(), c.overridesDeleteCommand(), c.overridesListCommand(), c.overridesImportCommand())
	cmd.Long = `An override changes the limits of one key: another capacity, other limits, none, or a denial. Those set here
are items of the rules table, and come before those that the rules themselves hold. They take effect within
ten seconds, and publishing rules never touches them.

If RULE is plan, the override says which plan a caller has. KEY has the form of the rule's override keys,
such as tenant:acme; special characters in a value are escaped for you.`
	return cmd
}

// storedFlags are those of commands on overrides that the table has already.
// Such an override may have outlived its rule, or the form of its keys.
type storedFlags struct {
	flags.Table
	asListed bool
}

func (f *storedFlags) add(cmd *cobra.Command) {
	f.Table.Add(cmd)
	cmd.Flags().BoolVar(&f.asListed, "as-listed", false, "KEY is one of the table, just as overrides list prints it")
}

// target finds the override of a key that the table has.
func (f *storedFlags) target(c *cli, cmd *cobra.Command, rule, key string) (*operator.OverrideTarget, error) {
	table, err := f.Table.Read(cmd)
	if err != nil {
		return nil, err
	}
	o := operator.OverrideOptions{Table: table, Rule: rule, Key: key, AsListed: f.asListed}
	return operator.FindStored(cmd.Context(), &o, c)
}

// findKey finds the key by which requests look up overrides.
func findKey(cmd *cobra.Command, f *flags.Table, rule, key string) (*operator.OverrideTarget, error) {
	table, err := f.Read(cmd)
	if err != nil {
		return nil, err
	}
	return operator.FindKey(cmd.Context(), &operator.OverrideOptions{Table: table, Rule: rule, Key: key})
}

// overrideLines describes an override: what it says, then each grant.
func overrideLines(r *operator.OverrideReport) (lines []string) {
	if r == nil {
		return nil
	}
	if says := r.Summary(); says != "" {
		if !r.Until.IsZero() {
			says += ending(r.Until, r.InForce)
		}
		lines = append(lines, says+operator.Because(r.Why)+author(r.Who, r.When, r.InRules()))
	}
	for _, g := range r.Grants {
		line := "+" + text.Thousands(g.Add)
		if g.Limit != "" {
			line += " " + g.Limit
		}
		lines = append(lines, line+ending(g.Until, g.Left > 0)+operator.Because(g.Why)+author(g.Who, g.When, false))
	}
	return lines
}

func ending(until time.Time, inForce bool) string {
	if inForce {
		return " until " + text.Stamp(until)
	}
	return ", ended " + text.Stamp(until)
}

// author says who set something, and when or where.
func author(who string, when time.Time, inRules bool) string {
	switch {
	case !when.IsZero() && who != "":
		return fmt.Sprintf(" (%s, %s)", text.Printable(who), text.Stamp(when))
	case inRules:
		return " (in the rules)"
	}
	return ""
}

// overrideRows are the lines of an override under a name.
func overrideRows(name string, r *operator.OverrideReport) (rows [][]string) {
	if r == nil {
		return [][]string{{name, "none"}}
	}
	for _, line := range overrideLines(r) {
		rows = append(rows, []string{name, line})
		name = ""
	}
	return rows
}

// printChange prints a change of an override.
func (c *cli) printChange(asJSON bool, r *operator.KeyChangeReport, err error) error {
	return c.report(asJSON, r, err, func(p *term.Printer) {
		p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
		before := overrideRows("  before", r.Before)
		if r.Before == nil && r.BeforeDocument != "" {
			before = [][]string{{"  before", "a document that cannot be read: " + text.Printable(r.BeforeDocument)}}
		}
		p.Table("ll", append(before, overrideRows("  now", r.After)...))
	})
}

func (c *cli) overridesGetCommand() *cobra.Command {
	var f storedFlags
	cmd := &cobra.Command{
		Use:   "get RULE KEY --rules dynamodb://TABLE",
		Short: "Show the override of a key",
		Long: `Get shows the override of one key: by whom, when and why it was set, until when it holds, its grants with the
time left, and the document as the table has it. If the table has none, it shows the override in the rules.

An override that was set when the rule had another name, or keys of another form, is still in the table,
though no request looks it up: name it by its key as overrides list prints it. If KEY could be either, Get
shows the one that requests look up, unless --as-listed says otherwise.`,
		Example: `  slidegate overrides get api tenant:acme --rules dynamodb://slidegate-rules
  slidegate overrides get plan user:7 --rules dynamodb://slidegate-rules --json`,
		Args:              flags.Positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: flags.InTurn(f.RuleNames(rules.PlanOverrides), f.OverrideKeys()),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := f.target(c, cmd, args[0], args[1])
			if err != nil {
				return err
			}
			r, err := target.Get(cmd.Context())
			return c.report(f.JSON, r, err, func(p *term.Printer) { printOverride(p, r) })
		},
	}
	f.add(cmd)
	return cmd
}

func printOverride(p *term.Printer, r *operator.KeyReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	rows := overrideRows("  says", r.Override)
	if r.Document != "" {
		rows = append(rows, []string{"  document", text.Printable(r.Document)})
	}
	p.Table("ll", rows)
}

func (c *cli) overridesDeleteCommand() *cobra.Command {
	var f storedFlags
	var note flags.Note
	cmd := &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes the override of one key that was set by command, and its grants: the rules apply again, within
ten seconds. To change an override in the rules themselves, publish other rules.

An override that no request looks up any more is deleted by its key as overrides list prints it, with
--as-listed if KEY could be another.`,
		Example:           `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: flags.InTurn(f.RuleNames(rules.PlanOverrides), f.OverrideKeys()),
		RunE: func(cmd *cobra.Command, args []string) error {
			reason, err := note.Read(cmd, time.Now())
			if err != nil {
				return err
			}
			target, err := f.target(c, cmd, args[0], args[1])
			if err != nil {
				return err
			}
			r, err := target.Delete(cmd.Context(), reason)
			return c.printChange(f.JSON, r, err)
		},
	}
	f.add(cmd)
	note.Add(cmd)
	return cmd
}
