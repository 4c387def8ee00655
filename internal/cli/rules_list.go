package cli

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) listCommand() *cobra.Command {
	var f tableFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the published versions",
		Long:  `List shows the versions in a rules table, the newest first: who published each of them, when, and why.`,
		Example: `  slidegate rules list --rules dynamodb://slidegate-rules
  slidegate rules list --rules dynamodb://slidegate-rules --limit 5 --json`,
		Args:              noArguments,
		ValidArgsFunction: nothing,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.listVersions(cmd, &f, limit) },
	}
	f.add(cmd)
	limitFlag(cmd, &limit, "versions", 20)
	return cmd
}

func (c *cli) listVersions(cmd *cobra.Command, f *tableFlags, limit int) error {
	if err := checkLimit(cmd, limit); err != nil {
		return err
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	versions, err := table.VersionReports(cmd.Context(), limit)
	if err != nil {
		return err
	}
	if len(versions) == 0 && !f.json {
		c.Note("nothing is published in %s; `slidegate rules apply FILE` publishes rules", f.rules)
		return nil
	}
	report := struct {
		Versions []operator.VersionReport `json:"versions"`
	}{versions}
	return c.report(f.json, report, nil, func(p *term.Printer) {
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
