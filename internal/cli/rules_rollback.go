package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/operator"
)

func (c *cli) rollbackCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "rollback VERSION --why TEXT --rules dynamodb://TABLE",
		Short: "Put an earlier version in force again",
		Long: `Rollback shows what a published version changes, as diff does, and puts it in force again, within ten seconds
everywhere. Nothing is lost: the version that was in force stays listed, and can be put in force again the same
way. If somebody else publishes meanwhile, rollback changes nothing and says so.

Overrides set by command stay as they are. Rollback lists overrides that do not fit. With --against it also
counts the recorded requests that would be decided otherwise, as diff does.`,
		Example: `  slidegate rules rollback 11 --why "12 limits the probes" --rules dynamodb://slidegate-rules
  slidegate rules rollback 11 --dry-run --against monday.log.gz --rules dynamodb://slidegate-rules`,
		Args: flags.Positional(1, 1, "one version"), ValidArgsFunction: flags.NoWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := parseVersion(args[0])
			if err != nil {
				return err
			}
			traffic, err := f.traffic(c)
			if err != nil {
				return err
			}
			p, err := operator.PrepareRollback(cmd.Context(), f.RulesTable, to, traffic)
			if err != nil {
				return err
			}
			p.Report.Name = fmt.Sprintf("version %d", to)
			return c.publish(cmd.Context(), &f, p, "put in force", func() string {
				return fmt.Sprintf("version %d is in force again%s", to, after(p.Report.From))
			})
		},
	}
	f.AddTable(cmd)
	f.trafficFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and put nothing in force")
	flags.Note(cmd, &f.note, &f.dry)
	f.json = flags.JSON(cmd)
	return cmd
}
