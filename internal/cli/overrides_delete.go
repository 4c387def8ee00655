package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/rules"
)

type deleteFlags struct {
	storedFlags
	flags.Note
}

func (c *cli) overridesDeleteCommand() *cobra.Command {
	var f deleteFlags
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
		RunE:              func(cmd *cobra.Command, args []string) error { return c.deleteOverride(cmd, &f, args[0], args[1]) },
	}
	f.storedFlags.add(cmd)
	f.Note.Add(cmd)
	return cmd
}

func (c *cli) deleteOverride(cmd *cobra.Command, f *deleteFlags, rule, key string) error {
	note, err := f.Note.Read(cmd, time.Now())
	if err != nil {
		return err
	}
	target, err := f.target(c, cmd, rule, key)
	if err != nil {
		return err
	}
	r, err := target.Delete(cmd.Context(), note)
	return c.printChange(f.JSON, r, err)
}
