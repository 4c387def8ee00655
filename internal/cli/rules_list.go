package cli

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) listCommand() *cobra.Command {
	var f flags.Table
	var limit int
	cmd := &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the published versions",
		Long:  `List shows the versions in a rules table, the newest first: who published each of them, when, and why.`,
		Example: `  slidegate rules list --rules dynamodb://slidegate-rules
  slidegate rules list --rules dynamodb://slidegate-rules --limit 5 --json`,
		Args:              flags.NoArguments,
		ValidArgsFunction: flags.NoWords,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.listVersions(cmd, &f, limit) },
	}
	f.Add(cmd)
	flags.Limit(cmd, &limit, "versions", 20)
	return cmd
}

func (c *cli) listVersions(cmd *cobra.Command, f *flags.Table, limit int) error {
	if err := flags.CheckLimit(cmd, limit); err != nil {
		return err
	}
	table, err := f.Open(cmd)
	if err != nil {
		return err
	}
	versions, err := operator.Versions(cmd.Context(), table, limit)
	if err != nil {
		return err
	}
	if len(versions) == 0 && !f.JSON {
		c.Note("nothing is published in %s; `slidegate rules apply FILE` publishes rules", f.Rules)
		return nil
	}
	report := struct {
		Versions []operator.VersionReport `json:"versions"`
	}{versions}
	return c.report(f.JSON, report, nil, func(p *term.Printer) {
		rows := [][]string{{"version", "", "published", "by", "why"}}
		for _, v := range versions {
			mark := ""
			if v.InForce {
				mark = "in force"
			}
			rows = append(rows, []string{text.Thousands(v.Version), mark, text.Stamp(v.When), text.Printable(v.Who), text.Printable(v.Why)})
		}
		p.Table("rllll", rows)
	})
}
