package cli

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/outfile"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
)

func (c *cli) getCommand() *cobra.Command {
	var where flags.Locations
	var output string
	cmd := &cobra.Command{
		Use:   "get [VERSION] --rules dynamodb://TABLE",
		Short: "Print a published version",
		Long:  `Get prints the rules of a version as they were published, by default of the one in force.`,
		Example: `  slidegate rules get --rules dynamodb://slidegate-rules --output rules.yaml
  slidegate rules get 12 --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(0, 1, "one version at most"),
		ValidArgsFunction: flags.NoWords,
	}
	where.AddTable(cmd)
	cmd.Flags().StringVar(&output, "output", "", "write the rules to a `FILE`")
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		version := int64(0)
		if len(args) > 0 {
			if version, err = parseVersion(args[0]); err != nil {
				return err
			}
		}
		table, err := session.OpenTable(cmd.Context(), where.RulesTable)
		if err != nil {
			return err
		}
		r, err := operator.Document(cmd.Context(), table, version)
		if err != nil {
			return err
		}
		if *asJSON {
			return newEncoder(c.stdout, "  ").Encode(r)
		}
		return outfile.WriteString(output, c.stdout, r.Text)
	}
	return cmd
}
