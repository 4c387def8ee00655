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
	var f storedFlags
	cmd := &cobra.Command{
		Use:   "get RULE KEY --rules dynamodb://TABLE",
		Short: "Show the override of a key",
		Long: `Get shows what is said of one key: by whom, when and why, until when, its grants with what is left of them, and
the document as the table has it. What the rules themselves say of the key is shown where the table says nothing.

What was set when the rule had another name, or keys of another form, is still in the table, though no request
looks it up: it is found by its key as overrides list prints it. Where KEY could be either, it is the one that
requests look up, unless --as-listed says otherwise.`,
		Example: `  slidegate overrides get api tenant:acme --rules dynamodb://slidegate-rules
  slidegate overrides get plan user:7 --rules dynamodb://slidegate-rules --json`,
		Args:              positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.getOverride(cmd, &f, args[0], args[1]) },
	}
	f.add(cmd)
	return cmd
}

func (c *cli) getOverride(cmd *cobra.Command, f *storedFlags, rule, text string) error {
	target, err := f.target(c, cmd, rule, text)
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
			Unused   string        `json:"unused,omitempty"` // why no request looks the key up
		}{target.rule, target.key, seen.told, seen.document, target.unused})
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
	storedFlags
	noteFlags
}

func (c *cli) overridesDeleteCommand() *cobra.Command {
	var f deleteFlags
	cmd := &cobra.Command{
		Use:   "delete RULE KEY --why TEXT --rules dynamodb://TABLE",
		Short: "Delete the override of a key",
		Long: `Delete removes what was said of one key by command, its grants too: the rules have their say again, within ten
seconds. What the rules themselves say of the key is changed by publishing others.

What no request looks up any more is deleted by its key as overrides list prints it, with --as-listed where KEY
could be another.`,
		Example:           `  slidegate overrides delete api tenant:acme --why "contract ended" --rules dynamodb://slidegate-rules`,
		Args:              positional(2, 2, "a rule, or plan, and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(rules.PlanOverrides), f.overrideKeys()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.deleteOverride(cmd, &f, args[0], args[1]) },
	}
	f.storedFlags.add(cmd)
	f.noteFlags.add(cmd)
	return cmd
}

func (c *cli) deleteOverride(cmd *cobra.Command, f *deleteFlags, rule, text string) error {
	now := time.Now()
	note, err := f.note(cmd, now)
	if err != nil {
		return err
	}
	target, err := f.target(c, cmd, rule, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), publishTime)
	defer cancel()
	before, err := target.look(ctx, now)
	if err != nil && !errors.Is(err, ruletable.ErrUnreadable) {
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
