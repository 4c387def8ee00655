package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/text"
)

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
		ValidArgsFunction: flags.NoWords,
	}
	f.add(cmd)
	return reporting(c, cmd, func(ctx context.Context, args []string) (*operator.KeyReport, error) {
		target, err := f.find(ctx, c, args)
		if err != nil {
			return nil, err
		}
		return target.Get(ctx)
	}, printOverride)
}

func printOverride(p *term.Printer, r *operator.KeyReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	rows := overrideRows("  says", r.Override)
	if r.Document != "" {
		rows = append(rows, []string{"  document", text.Printable(string(r.Document))})
	}
	p.Table("ll", rows)
}
