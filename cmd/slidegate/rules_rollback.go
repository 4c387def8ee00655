package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

type rollbackFlags struct {
	tableFlags
	noteFlags
}

func (c *cli) rollbackCommand() *cobra.Command {
	var f rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback VERSION --why TEXT --rules dynamodb://TABLE",
		Short: "Put an earlier version in force again",
		Long: `Rollback puts a published version in force again, within ten seconds everywhere, and shows what that changes.
Nothing is lost: the version that was in force stays listed, and can be put in force again the same way.
Overrides set by command stay as they are; those that do not fit are listed.`,
		Example: `  slidegate rules rollback 11 --why "12 limits the probes" --rules dynamodb://slidegate-rules`,
		Args:    positional(1, 1, "one version"), ValidArgsFunction: inTurn(f.versions()),
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, &f, args[0]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	return cmd
}

func (c *cli) rollback(cmd *cobra.Command, f *rollbackFlags, text string) error {
	to, err := parseVersion(cmd, text)
	if err != nil {
		return err
	}
	note, err := f.note(cmd, time.Now())
	if err != nil {
		return err
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishTime)
	defer cancel()
	p, err := c.previewRollback(ctx, table, f.placeFlags.rules, to)
	if err != nil {
		return err
	}
	from, err := table.Rollback(ctx, to, note)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, rolledBack{to, p.told()})
	}
	if err := p.print(c.stdout, fmt.Sprintf("version %d", to), c.colours(c.stdout)); err != nil {
		return err
	}
	out := printer{w: c.stdout}
	out.line("")
	out.line("version %d is in force again%s", to, after(from))
	return out.err
}

// previewRollback finds out what another version changes. One that this program does not take for valid is refused: so
// would limiters.
func (c *cli) previewRollback(ctx context.Context, table *ruletable.Table, place string, to int64) (*preview, error) {
	v, err := table.Get(ctx, to)
	if err != nil {
		return nil, err
	}
	next, err := rules.Parse(fmt.Sprintf("%s version %d", place, to), v.Document)
	if err != nil {
		return nil, err
	}
	old, err := editionInForce(ctx, table, strings.TrimPrefix(place, dynamoScheme))
	if err != nil {
		return nil, err
	}
	return c.preview(ctx, old, table, next, nil)
}

// rolledBack is what rules rollback --json prints.
type rolledBack struct {
	Version int64 `json:"version"`
	previewTold
}
