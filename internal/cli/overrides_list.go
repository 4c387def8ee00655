package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) overridesListCommand() *cobra.Command {
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
			return showLine(c.stdout, *asJSON, r, printListed)
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
	p.Line("%s  %s%s%s", text.Printable(r.Key), mark, strings.Join(overrideLines(r.Override), "; "), text.Printable(r.Error))
}
