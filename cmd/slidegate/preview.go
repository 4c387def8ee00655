package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// edition is what new rules are compared with.
type edition struct {
	name    string     // for people
	version int64      // of a table; 0 for none
	set     *rules.Set // nil for a version that is not valid
	invalid error      // why it is not
}

// preview is what new rules would change.
type preview struct {
	old        edition
	table      *ruletable.Table // nil where the old rules are in a file
	changes    []ruledoc.Change
	misfits    *misfits           // nil where the old rules are in a file
	comparison *replay.Comparison // nil without a log
}

// preview finds out what would change. table is nil where the rules are in files.
func (c *cli) preview(ctx context.Context, old edition, table *ruletable.Table, next *rules.Set, logs []replay.Log) (p *preview, err error) {
	p = &preview{old: old, table: table}
	if old.set != nil {
		p.changes = ruledoc.Diff(old.set.Document(), next.Document())
	}
	if table != nil {
		names := suspects(p.changes)
		if old.set == nil { // what has changed is not known
			names = append(ruleNames(next), rules.PlanOverrides)
		}
		if p.misfits, err = findMisfits(ctx, table, old.set, next, names); err != nil {
			return nil, err
		}
	}
	if len(logs) > 0 {
		if old.set == nil {
			return nil, fmt.Errorf("--against: there is nothing to compare with: %w", old.invalid)
		}
		p.comparison, err = c.compare(ctx, logs, old.set, next, table)
	}
	return p, err
}

// previewTable compares with the version in force.
func (c *cli) previewTable(ctx context.Context, name string, next *rules.Set, logs []replay.Log) (*preview, error) {
	client, err := connect(ctx, func(ctx context.Context, client *dynamo.Client) error { return probeRules(ctx, client, name) })
	if err != nil {
		return nil, err
	}
	table := ruletable.New(client, name)
	old, err := editionInForce(ctx, table, name)
	if err != nil {
		return nil, err
	}
	return c.preview(ctx, old, table, next, logs)
}

// editionInForce returns the version in force. That there is none, or none that is valid, is no error: it must not stand in
// the way of a better one.
func editionInForce(ctx context.Context, table *ruletable.Table, name string) (edition, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	set, version, err := inForce(ctx, table)
	old := edition{name: fmt.Sprintf("version %d", version), version: version, set: set}
	var invalid *ruletable.Problems
	switch {
	case errors.Is(err, ruletable.ErrNone):
		old.name = "a table without rules"
		old.set, err = rulefile.Parse("", []byte("rules: []"))
	case errors.As(err, &invalid), errors.Is(err, ruletable.ErrNoVersion), errors.Is(err, ruletable.ErrNoDocument):
		old.set, old.invalid, err = nil, err, nil
	}
	return old, err
}

// previewTold is a preview for programs.
type previewTold struct {
	From    int64            `json:"from_version"` // the version in force; 0 for none, and for a file
	Changes []ruledoc.Change `json:"changes"`
	Misfits *misfits         `json:"misfits,omitempty"` // left out where the old rules are in a file
	Against *comparisonTold  `json:"against,omitempty"`
}

func (p *preview) told() previewTold {
	told := previewTold{From: p.old.version, Changes: []ruledoc.Change{}, Misfits: p.misfits}
	told.Changes = append(told.Changes, p.changes...)
	if p.comparison != nil {
		told.Against = tellComparison(p.comparison)
	}
	return told
}

// print prints the preview of a file for people.
func (p *preview) print(w io.Writer, file string, paint colours) error {
	out := printer{w: w}
	switch {
	case p.old.set == nil:
		out.line("%s is not valid here, so there is no telling what %s changes: %v", p.old.name, file, p.old.invalid)
	case len(p.changes) == 0:
		out.line("%s means the same as %s", file, p.old.name)
	default:
		out.line("%s changes %s:", file, p.old.name)
	}
	for _, change := range p.changes {
		out.line("  %s", paint.change(change))
	}
	if p.misfits != nil {
		p.misfits.print(&out)
	}
	if p.comparison != nil {
		printComparison(&out, p.comparison, paint)
	}
	return out.err
}

// change paints what is new green, and red what is lost.
func (on colours) change(c ruledoc.Change) string {
	switch {
	case c.Kind == ruledoc.Added:
		return on.green(c.String())
	case c.Kind == ruledoc.Removed, c.CountersReset:
		return on.red(c.String())
	}
	return c.String()
}
