package cli

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) listCommand() *cobra.Command {
	return listing[ruletable.Version]{
		name: "versions", things: "versions", read: (*ruletable.Table).Versions,
		none:   "nothing is published in %s; `slidegate rules apply FILE` publishes rules",
		layout: "rllll", header: []string{"version", "", "published", "by", "why"},
		row: func(v *ruletable.Version) []string {
			mark := ""
			if v.InForce {
				mark = "in force"
			}
			return []string{text.Thousands(v.Number), mark, text.Stamp(v.When), text.Printable(v.Who), text.Printable(v.Why)}
		},
	}.command(c, &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the published versions",
		Long:  `List shows the versions in a rules table, the newest first: who published each of them, when, and why.`,
		Example: `  slidegate rules list --rules dynamodb://slidegate-rules
  slidegate rules list --rules dynamodb://slidegate-rules --limit 5 --json`,
	})
}
