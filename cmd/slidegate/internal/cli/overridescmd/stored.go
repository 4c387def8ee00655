package overridescmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// onStored completes a command on the override of a table that its arguments
// RULE and KEY name. The rule of that override, or the form of its keys, may be
// gone.
func onStored[R any](
	c *command.Console, cmd *cobra.Command, do func(context.Context, *operator.OverrideTarget) (R, error), print func(*term.Printer, R),
) *cobra.Command {
	var where flags.Locations
	cmd.Args = flags.Positional(2, 2, "a rule, or plan, and a key")
	where.AddTable(cmd)
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (none R, err error) {
		target, err := operator.FindStored(ctx, where.RulesTable, args[0], args[1], c)
		if err != nil {
			return none, err
		}
		return do(ctx, target)
	}, print)
}

func getCommand(c *command.Console) *cobra.Command {
	get := func(ctx context.Context, t *operator.OverrideTarget) (*operator.KeyReport, error) { return t.Get(ctx) }
	return onStored(c, &cobra.Command{
		Use:   "get RULE KEY --rules dynamodb://TABLE",
		Short: "Show the override of a key",
		Long: `Get shows the override of one key: by whom, when and why it was set, until when it holds, its grants with the
time left, and the document as the table has it. If the table has none, it shows the override in the rules.

An override that was set when the rule had another name, or keys of another form, is still in the table,
though no request looks it up: name it by its key as overrides list prints it. A key that the table has as you
type it is that one, and Get warns if requests look up another.`,
		Example: `  slidegate overrides get api tenant:acme --rules dynamodb://slidegate-rules
  slidegate overrides get plan user:7 --rules dynamodb://slidegate-rules --json`,
	}, get, printOverride)
}

func printOverride(p *term.Printer, r *operator.KeyReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	rows := overrideRows("  says", r.Override)
	rows.Add("  document", text.Printable(string(r.Document)))
	p.Table("ll", rows)
}

func deleteCommand(c *command.Console) *cobra.Command {
	var note ruletable.Note
	remove := func(ctx context.Context, t *operator.OverrideTarget) (*operator.KeyChangeReport, error) {
		return t.Delete(ctx, note)
	}
	cmd := onStored(c, &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes the override of one key that was set by command, and its grants: the rules apply again, within
ten seconds. To change an override in the rules themselves, publish other rules.

An override that no request looks up any more is deleted by its key as overrides list prints it.`,
		Example: `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
	}, remove, printChange)
	flags.Note(cmd, &note, nil)
	return cmd
}

func listCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var o operator.ListOptions
	cmd := &cobra.Command{
		Use:   "list RULE --rules dynamodb://TABLE",
		Short: "List the overrides of a rule",
		Long: `List shows the keys of a rule that have an override in the table, in the order of their bytes, each on a line
as soon as it is read. It marks overrides that have ended. It also marks overrides that no request looks up,
because they were set when the rule had keys of another form, or other rules were in force. Overrides in the
rules themselves are counted, not listed.

With --json each line is an object. Such lines can be imported again.`,
		Example: `  slidegate overrides list api --rules dynamodb://slidegate-rules
  slidegate overrides list api --prefix tenant:a --limit 100 --rules dynamodb://slidegate-rules
  slidegate overrides list plan --json --rules dynamodb://slidegate-rules > plans.jsonl`,
		Args:              flags.Positional(1, 1, "a rule, or plan"),
		ValidArgsFunction: flags.NoWords,
	}
	where.AddTable(cmd)
	cmd.Flags().StringVar(&o.Prefix, "prefix", "", "only keys that begin with `TEXT`, as keys are listed")
	flags.Limit(cmd, &o.Limit, "keys", 0)
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Table, o.Rule = where.RulesTable, args[0]
		return operator.ListOverrides(cmd.Context(), &o, c, func(r *operator.ListedOverride) error {
			return command.ShowLine(c.Stdout, *asJSON, r, printListed)
		})
	}
	return cmd
}

func printListed(p *term.Printer, r *operator.ListedOverride) {
	mark := ""
	if r.Ended {
		mark = "ended: "
	}
	if r.Unused != "" {
		mark = "not looked up: " + mark
	}
	p.Line("%s  %s%s%s", text.Printable(r.Key), mark, strings.Join(r.Override.Lines(), "; "), text.Printable(r.Error))
}
