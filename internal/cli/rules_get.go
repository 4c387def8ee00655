package cli

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/outfile"
	"github.com/slidegate/slidegate/internal/operator"
)

type getFlags struct {
	flags.Table
	output string
}

func (c *cli) getCommand() *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [VERSION] --rules dynamodb://TABLE",
		Short: "Print a published version",
		Long:  `Get prints the rules of a version as they were published, by default of the one in force.`,
		Example: `  slidegate rules get --rules dynamodb://slidegate-rules --output rules.yaml
  slidegate rules get 12 --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(0, 1, "one version at most"),
		ValidArgsFunction: flags.InTurn(f.Versions()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.getVersion(cmd, &f, args) },
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.output, "output", "", "write the rules to a `FILE`")
	return cmd
}

func (c *cli) getVersion(cmd *cobra.Command, f *getFlags, args []string) (err error) {
	version := int64(0)
	if len(args) > 0 {
		if version, err = parseVersion(cmd, args[0]); err != nil {
			return err
		}
	}
	table, err := f.Open(cmd)
	if err != nil {
		return err
	}
	r, err := operator.Document(cmd.Context(), table, version)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.stdout, r)
	}
	return outfile.Write(f.output, c.stdout, []byte(r.Document))
}
