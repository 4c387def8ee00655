package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) overridesDeleteCommand() *cobra.Command {
	var f storedFlags
	var note ruletable.Note
	cmd := &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes the override of one key that was set by command, and its grants: the rules apply again, within
ten seconds. To change an override in the rules themselves, publish other rules.

An override that no request looks up any more is deleted by its key as overrides list prints it, with
--as-listed if KEY could be another.`,
		Example:           `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: flags.NoWords,
	}
	f.add(cmd)
	flags.Note(cmd, &note, nil)
	return reporting(c, cmd, func(ctx context.Context, args []string) (*operator.KeyChangeReport, error) {
		target, err := f.find(ctx, c, args)
		if err != nil {
			return nil, err
		}
		return target.Delete(ctx, note)
	}, printChange)
}
