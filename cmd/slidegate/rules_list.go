package main

import (
	"time"

	"github.com/spf13/cobra"
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
		Args:              positional(0, 0, "no arguments besides flags"),
		ValidArgsFunction: nothing,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.listVersions(cmd, &f, limit) },
	}
	f.add(cmd)
	limitFlag(cmd, &limit, "versions", 20)
	return cmd
}

// limitFlag adds --limit.
func limitFlag(cmd *cobra.Command, limit *int, what string, standard int) {
	cmd.Flags().IntVar(limit, "limit", standard, "show at most `N` "+what+"; 0 for all")
}

func checkLimit(cmd *cobra.Command, limit int) error {
	if limit < 0 {
		return usagef(cmd, "--limit %d: want 0 or more", limit)
	}
	return nil
}

// versionTold is a version, for programs.
type versionTold struct {
	Version int64     `json:"version"`
	InForce bool      `json:"in_force"`
	Who     string    `json:"who"`
	When    time.Time `json:"when"`
	Why     string    `json:"why"`
}

func (c *cli) listVersions(cmd *cobra.Command, f *tableFlags, limit int) error {
	if err := checkLimit(cmd, limit); err != nil {
		return err
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	versions := []versionTold{}
	for v, err := range table.Versions(cmd.Context()) {
		if err != nil {
			return err
		}
		versions = append(versions, versionTold{v.Number, v.InForce, v.Who, v.When, v.Why})
		if len(versions) == limit {
			break
		}
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Versions []versionTold `json:"versions"`
		}{versions})
	}
	if len(versions) == 0 {
		c.say("nothing is published in %s; `slidegate rules apply FILE` publishes rules", f.rules)
		return nil
	}
	rows := [][]string{{"version", "", "published", "by", "why"}}
	for _, v := range versions {
		mark := ""
		if v.InForce {
			mark = "in force"
		}
		rows = append(rows, []string{thousands(v.Version), mark, stamp(v.When), plainText(v.Who), plainText(v.Why)})
	}
	p := printer{w: c.stdout}
	p.table("rllll", rows)
	return p.err
}
