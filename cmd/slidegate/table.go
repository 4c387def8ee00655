package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// tableFlags are those of commands that work on a table of rules alone.
type tableFlags struct {
	placeFlags
	json bool
}

func (f *tableFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.rules, "rules", "", "the table of rules, dynamodb://`TABLE`")
	jsonFlag(cmd, &f.json)
}

// open returns the table once it has answered.
func (f *tableFlags) open(cmd *cobra.Command) (*ruletable.Table, error) {
	_, table, err := f.rulesPlace(cmd)
	if err != nil {
		return nil, err
	}
	if table == "" {
		return nil, usagef(cmd, "--rules %s: this works on a table, dynamodb://TABLE", f.rules)
	}
	client, err := connect(cmd.Context(), func(ctx context.Context, client *dynamo.Client) error { return probeRules(ctx, client, table) })
	if err != nil {
		return nil, err
	}
	return ruletable.New(client, table), nil
}

// noteFlags say who changes something, and why.
type noteFlags struct{ who, why string }

func (f *noteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.why, "why", "", "why: a `TEXT` for the history (required)")
	cmd.Flags().StringVar(&f.who, "who", "", "the `NAME` of who changes it (default: the user of this system)")
}

// note returns what the history is to say.
func (f *noteFlags) note(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	if f.why == "" {
		return note, usagef(cmd, "--why is missing: a reason, for those who will ask")
	}
	note = ruletable.Note{Why: f.why, When: now}
	note.Who, err = author(cmd, f.who)
	return note, err
}

// inForce returns the rules in force and the number of their version.
func inForce(ctx context.Context, table *ruletable.Table) (*rules.Set, int64, error) {
	version, err := table.Current(ctx)
	if err != nil {
		return nil, 0, err
	}
	set, err := readVersion(ctx, table, version)
	return set, version, err
}

// readVersion returns the rules of a published version.
func readVersion(ctx context.Context, table *ruletable.Table, version int64) (*rules.Set, error) {
	set, err := table.Rules(ctx, version)
	if err != nil {
		return nil, err
	}
	return set, loadHashSecret("", set)
}
