package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

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
