package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
)

type diffFlags struct {
	placeFlags
	againstFlags
	json bool
}

func (c *cli) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff FILE --rules dynamodb://TABLE|FILE",
		Short: "Say what a rules file would change",
		Long: `Diff says what a rules file changes about the rules in force, or about another file: what they mean, not how they
are written. Of each rule that changes it says whether its counters keep their windows or start at zero, and
of a table which overrides set by command do not fit the new rules.

With --against it also sends a recorded log through both, each on counters of its own, and says how many
requests would have fared otherwise. Windows go by the log's clock; overrides count as a publish would find
them now, those set by command too: one that holds, or a grant, for the whole log, one that has ended not at
all. Each key that has requests is looked up once, and if one cannot be read there is no comparison.`,
		Example: `  slidegate rules diff rules.yaml --rules dynamodb://slidegate-rules
  slidegate rules diff new.yaml --rules old.yaml
  slidegate rules diff rules.yaml --rules dynamodb://slidegate-rules --against monday.log.gz --json`,
		Args: positional(1, 1, "one rules file"), ValidArgsFunction: inTurn(filesOf("yaml", "yml", "json")),
		RunE: func(cmd *cobra.Command, args []string) error { return c.diff(cmd, &f, args[0]) },
	}
	f.addRules(cmd)
	f.againstFlags.add(cmd)
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) diff(cmd *cobra.Command, f *diffFlags, file string) error {
	old, table, err := f.rulesPlace(cmd)
	if err != nil {
		return err
	}
	logs, err := c.against(cmd, &f.againstFlags)
	if err != nil {
		return err
	}
	next, _, err := readRules(file)
	if err != nil {
		return err
	}
	c.warn(warnings(next))
	p, err := c.previewPlace(cmd.Context(), old, table, next, logs)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, p.told())
	}
	return p.print(c.stdout, file, c.colours(c.stdout))
}

// previewPlace compares with another file, or with the version in force of a table.
func (c *cli) previewPlace(ctx context.Context, file, table string, next *rules.Set, logs []replay.Log) (*preview, error) {
	if table == "" {
		set, _, err := readRules(file)
		if err != nil {
			return nil, err
		}
		return c.preview(ctx, edition{name: file, set: set}, nil, next, logs)
	}
	p, err := c.previewTable(ctx, table, next, logs)
	if err == nil && p.old.set == nil {
		err = p.old.invalid
	}
	return p, err
}
