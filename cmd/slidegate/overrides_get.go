package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) overridesGetCommand() *cobra.Command {
	var f tableFlags
	cmd := &cobra.Command{
		Use:   "get RULE KEY --rules dynamodb://TABLE",
		Short: "Show the override of a key",
		Long: `Get shows what is said of one key: by whom, when and why, until when, its grants with what is left of them, and
the document as the table has it. What the rules themselves say of the key is shown where the table says nothing.`,
		Example: `  slidegate overrides get api tenant:acme --rules dynamodb://slidegate-rules
  slidegate overrides get plan user:7 --rules dynamodb://slidegate-rules --json`,
		Args:              positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.getOverride(cmd, &f, args[0], args[1]) },
	}
	f.add(cmd)
	return cmd
}

func (c *cli) getOverride(cmd *cobra.Command, f *tableFlags, rule, text string) error {
	target, err := f.storedTarget(cmd, rule, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	seen, err := target.look(ctx, time.Now())
	if err != nil {
		return err
	}
	if seen.told == nil {
		return fmt.Errorf("%s: %w", target.place(), ruletable.ErrNoOverride)
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Rule     string        `json:"rule"`
			Key      string        `json:"key"`
			Override *overrideTold `json:"override"`
			Document string        `json:"document,omitempty"`
		}{target.rule, target.key, seen.told, seen.document})
	}
	p := printer{w: c.stdout}
	p.line("override of %s for %s", target.rule, plainText(target.key))
	rows := seen.told.rows("  says")
	if seen.document != "" {
		rows = append(rows, []string{"  document", plainText(seen.document)})
	}
	p.table("ll", rows)
	return p.err
}

type deleteFlags struct {
	tableFlags
	noteFlags
}

func (c *cli) overridesDeleteCommand() *cobra.Command {
	var f deleteFlags
	cmd := &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes what was said of one key by command, its grants too: the rules have their say again, within ten
seconds. What the rules themselves say of the key is changed by publishing others.`,
		Example:           `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
		Args:              positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.deleteOverride(cmd, &f, args[0], args[1]) },
	}
	f.tableFlags.add(cmd)
	f.noteFlags.add(cmd)
	return cmd
}

func (c *cli) deleteOverride(cmd *cobra.Command, f *deleteFlags, rule, text string) error {
	now := time.Now()
	note, err := f.note(cmd, now)
	if err != nil {
		return err
	}
	target, err := f.storedTarget(cmd, rule, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishTime)
	defer cancel()
	before, err := target.look(ctx, now)
	var invalid rules.Errors
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) && !errors.As(err, &invalid) {
		return err // what cannot be read can be deleted
	}
	if err := target.table.DeleteOverride(ctx, target.rule, target.key, note); err != nil {
		return err
	}
	after, err := target.look(ctx, now)
	if err != nil {
		return err
	}
	return c.showChange(target, before, after, f.json)
}
