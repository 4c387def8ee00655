package main

import (
	"strconv"

	"github.com/spf13/cobra"
)

type getFlags struct {
	tableFlags
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
		Args:              positional(0, 1, "one version at most"),
		ValidArgsFunction: inTurn(f.versions()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.getVersion(cmd, &f, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.output, "output", "", "write the rules to a `FILE`")
	return cmd
}

func (c *cli) getVersion(cmd *cobra.Command, f *getFlags, args []string) error {
	number := int64(0)
	if len(args) > 0 {
		var err error
		if number, err = parseVersion(cmd, args[0]); err != nil {
			return err
		}
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	current, err := table.Current(cmd.Context())
	if err != nil {
		return err
	}
	if number == 0 {
		number = current
	}
	v, err := table.Get(cmd.Context(), number)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, struct {
			versionTold
			Document string `json:"document"`
		}{versionTold{v.Number, v.Number == current, v.Who, v.When, v.Why}, string(v.Text)})
	}
	return c.writeFile(f.output, v.Text)
}

func parseVersion(cmd *cobra.Command, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usagef(cmd, "%q is no version: want a number such as 12; `slidegate rules list` shows those there are", text)
	}
	return n, nil
}
