package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/ruletable"
)

type rollbackFlags struct {
	tableFlags
	noteFlags
	againstFlags
	dry bool
}

func (c *cli) rollbackCommand() *cobra.Command {
	var f rollbackFlags
	cmd := &cobra.Command{
		Use:   "rollback VERSION --why TEXT --rules dynamodb://TABLE",
		Short: "Put an earlier version in force again",
		Long: `Rollback shows what a published version changes, as diff does, and puts it in force again, within ten seconds
everywhere. Nothing is lost: the version that was in force stays listed, and can be put in force again the same
way. If somebody else publishes after the changes were worked out, nothing changes and rollback says so.

Overrides set by command stay as they are; those that do not fit are listed. With --against it also says how
recorded requests would have fared, as diff does.`,
		Example: `  slidegate rules rollback 11 --why "12 limits the probes" --rules dynamodb://slidegate-rules
  slidegate rules rollback 11 --dry-run --against monday.log.gz --rules dynamodb://slidegate-rules`,
		Args: positional(1, 1, "one version"), ValidArgsFunction: inTurn(f.versions()),
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, &f, args[0]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	f.againstFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would change, and put nothing in force")
	return cmd
}

func (c *cli) rollback(cmd *cobra.Command, f *rollbackFlags, text string) error {
	to, note, err := f.check(cmd, text)
	if err != nil {
		return err
	}
	logs, err := c.against(cmd, &f.againstFlags)
	if err != nil {
		return err
	}
	table, err := f.open(cmd)
	if err != nil {
		return err
	}
	p, err := c.previewRollback(cmd.Context(), table, f.placeFlags.rules, to, logs)
	if err != nil {
		return err
	}
	if !f.json {
		if err := p.print(c.stdout, fmt.Sprintf("version %d", to), c.colours(c.stdout)); err != nil {
			return err
		}
	}
	told := rolledBack{previewTold: p.told()}
	if !f.dry {
		note.When = time.Now()
		if err := p.rollback(cmd.Context(), to, note); err != nil {
			return err
		}
		told.Version = to
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	return told.print(c.stdout)
}

// check reads what is to be in force, and on whose word; a dry run needs nobody's.
func (f *rollbackFlags) check(cmd *cobra.Command, text string) (to int64, note ruletable.Note, err error) {
	if to, err = parseVersion(cmd, text); err == nil && !f.dry {
		note, err = f.note(cmd, time.Now())
	}
	return to, note, err
}

// previewRollback finds out what another version changes. One that this program does not take for valid is refused: so
// would limiters.
func (c *cli) previewRollback(ctx context.Context, table *ruletable.Table, place string, to int64, logs []replay.Log) (*preview, error) {
	reading, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	next, err := readVersion(reading, table, to)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(place, dynamoScheme)
	old, err := editionInForce(ctx, table, name)
	if err != nil {
		return nil, err
	}
	if old.version == to {
		return nil, fmt.Errorf("table %s: version %d: %w", name, to, ruletable.ErrInForce)
	}
	if err := publishable(fmt.Sprintf("%s version %d", place, to), next, ""); err != nil {
		return nil, err
	}
	return c.preview(ctx, old, table, next, logs)
}

// rollback puts a version in force, if the one that it was compared with still is.
func (p *preview) rollback(ctx context.Context, to int64, note ruletable.Note) error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	return p.table.Rollback(ctx, p.old.version, to, note)
}

// rolledBack is what rules rollback has done.
type rolledBack struct {
	Version int64 `json:"version,omitempty"` // left out of a dry run
	previewTold
}

func (r *rolledBack) print(w io.Writer) error {
	p := printer{w: w}
	p.line("")
	if r.Version == 0 {
		p.line("nothing was put in force: --dry-run")
	} else {
		p.line("version %d is in force again%s", r.Version, after(r.From))
	}
	return p.err
}
