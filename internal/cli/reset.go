package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) resetCommand() *cobra.Command {
	var f counterFlags
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "reset RULE KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Empty a key's counter",
		Long: `Reset deletes what a rule has counted for a key: its next request finds an empty counter. Each process
notices that within ten seconds, and may deny until then.

A key whose override has limits of its own has a counter of its own: Reset empties that one. If months begin
on a day that the caller's token names, give the claim.

If the rules are in a table, its history records the reset.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --why "ticket 86" --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate reset export tenant:acme --claim billing_day=15 --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args:              flags.Positional(2, 2, "a rule and a key"),
		ValidArgsFunction: flags.InTurn(f.where.RuleNames),
	}
	f.add(cmd)
	flags.Refuse(cmd, func() bool { return f.where.RulesTable == "" && note.Who+note.Why != "" },
		"--who and --why are for the history of a table, and --rules is a file: leave them out")
	flags.OptionalNote(cmd, &note, "why: a `TEXT` for the history", "resets it")
	return reporting(c, cmd, func(ctx context.Context, args []string) (*operator.ResetReport, error) {
		return operator.Reset(ctx, f.options(args[0], args[1]), note, c)
	}, func(p *term.Printer, r *operator.ResetReport) {
		p.Line("reset counter %s of rule %s", r.Key, r.Rule)
	})
}
