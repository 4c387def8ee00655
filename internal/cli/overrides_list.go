package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/text"
)

type listFlags struct {
	flags.Table
	operator.ListOptions
}

func (c *cli) overridesListCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list RULE --rules dynamodb://TABLE",
		Short: "List the overrides of a rule",
		Long: `List shows the keys of a rule that have an override in the table, in the order of their bytes, each on a line as
soon as it is read. It marks overrides that have ended, and those that no request looks up: they were set when
the rule had keys of another form, or other rules were in force. Overrides in the rules themselves are
counted, not listed.

With --json each line is an object. Such lines can be imported again.`,
		Example: `  slidegate overrides list api --rules dynamodb://slidegate-rules
  slidegate overrides list api --prefix tenant:a --limit 100 --rules dynamodb://slidegate-rules
  slidegate overrides list plan --json --rules dynamodb://slidegate-rules > plans.jsonl`,
		Args:              flags.Positional(1, 1, "a rule, or plan"),
		ValidArgsFunction: flags.InTurn(f.RuleNames(rules.PlanOverrides)),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.listOverrides(cmd, &f, args[0]) },
	}
	f.Table.Add(cmd)
	cmd.Flags().StringVar(&f.Prefix, "prefix", "", "only keys that begin with `TEXT`, as keys are listed")
	flags.Limit(cmd, &f.ListOptions.Limit, "keys", 0)
	return cmd
}

func (c *cli) listOverrides(cmd *cobra.Command, f *listFlags, rule string) error {
	err := flags.CheckLimit(cmd, f.ListOptions.Limit)
	if err != nil {
		return err
	}
	f.Rule = rule
	if f.ListOptions.Table, err = f.Table.Read(cmd); err != nil {
		return err
	}
	show := c.printListed
	if f.JSON {
		e := json.NewEncoder(c.stdout)
		e.SetEscapeHTML(false)
		show = func(r *operator.ListedOverride) error { return e.Encode(r) }
	}
	return operator.ListOverrides(cmd.Context(), &f.ListOptions, c, show)
}

func (c *cli) printListed(r *operator.ListedOverride) error {
	mark := ""
	if r.Ended {
		mark = "ended: "
	}
	if r.Unused != "" {
		mark = "not looked up: " + mark
	}
	p := term.NewPrinter(c.stdout)
	p.Line("%s  %s%s%s", text.Printable(r.Key), mark, strings.Join(overrideLines(r.Override), "; "), text.Printable(r.Error))
	return p.Err
}
