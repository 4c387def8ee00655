package overridescmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

func importCommand(c *command.Console) *cobra.Command {
	var where flags.Locations
	var o operator.ImportOptions
	cmd := &cobra.Command{
		Use:   "import RULE FILE --why TEXT --rules dynamodb://TABLE",
		Short: "Set many overrides of a rule",
		Long: `Import sets the overrides in a file, in place of the overrides that their keys have. Grants in the table stay,
and grants in the file are skipped. The whole file is checked against the rules in force first: if anything in it
is wrong, nothing is written. Twenty-five are written at a time. If it breaks off half-way, the history shows it
as unfinished; import the file again, which writes the others.

The file has a JSON object on each line, as overrides list --json prints them:
  {"key": "user:7", "document": {"capacity": 5, "until": "2026-12-31T00:00:00Z"}}
  {"key": "user:8", "document": {"limits": [{"capacity": 5, "window": "1s"}]}}
Keys have the form of the rule's override keys; special characters in a value are escaped for you.`,
		Example: `  slidegate overrides import api limits.jsonl --why "from the old limiter" --rules dynamodb://slidegate-rules
  slidegate overrides import plan plans.jsonl --dry-run --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(2, 2, "a rule, or plan, and a file"),
		ValidArgsFunction: flags.InTurn(flags.NoWords, flags.FilesOf("jsonl")),
	}
	where.AddTable(cmd)
	flags.Note(cmd, &o.Note, &o.DryRun)
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "check the file and write nothing")
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*operator.ImportReport, error) {
		o.Table, o.Rule, o.File = where.RulesTable, args[0], args[1]
		return operator.ImportOverrides(ctx, &o, c)
	}, func(p *term.Printer, r *operator.ImportReport) {
		switch {
		case o.DryRun:
			p.Line("%s of %s can be imported", text.Plural(r.Checked, "override"), r.Rule)
		case r.Unchanged > 0:
			p.Line("%s of %s imported, %s unchanged", text.Plural(r.Written, "override"), r.Rule, text.Thousands(r.Unchanged))
		default:
			p.Line("%s of %s imported", text.Plural(r.Written, "override"), r.Rule)
		}
	})
}
