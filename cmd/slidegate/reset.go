package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
)

type resetFlags struct {
	placeFlags
	callerFlags
	noteFlags
	json bool
}

func (c *cli) resetCommand() *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset RULE KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Empty a key's counter",
		Long: `Reset deletes what a rule has counted for a key: its next request starts afresh, in every process within ten
seconds, or with Redis at once. A window that was full is empty after it.

A key whose override has limits of its own has a counter of its own: that is the one to go. Where months begin
on a day that the caller's token names, give the claim.

Where the rules are in a table, its history has a line about it.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --why "ticket 86" --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate reset export tenant:acme --claim billing_day=15 --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args:              positional(2, 2, "a rule and a key"),
		ValidArgsFunction: inTurn(f.ruleNames(), f.counterKeys(func(args []string) string { return args[0] })),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.reset(cmd, &f, args[0], args[1]) },
	}
	f.placeFlags.add(cmd, "")
	f.callerFlags.add(cmd)
	cmd.Flags().StringVar(&f.why, "why", "", "why: a `TEXT` for the history")
	cmd.Flags().StringVar(&f.who, "who", "", "the `NAME` of who resets it (default: the user of this system)")
	jsonFlag(cmd, &f.json)
	return cmd
}

// note returns what the history is to say, which rules in a table have.
func (f *resetFlags) note(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	file, _, err := f.rulesPlace(cmd)
	switch {
	case err != nil:
		return note, err
	case file == "":
		note = ruletable.Note{Why: f.why, When: now}
		note.Who, err = author(cmd, f.who)
	case f.who != "" || f.why != "":
		err = usagef(cmd, "--who and --why are for the history of a table, and --rules is a file: leave them out")
	}
	return note, err
}

// resetTold is what reset --json prints.
type resetTold struct {
	Rule    string `json:"rule"`
	Key     string `json:"key"`
	Counter string `json:"counter"`
	Reset   bool   `json:"reset"`
}

func (c *cli) reset(cmd *cobra.Command, f *resetFlags, name, key string) error {
	note, err := f.note(cmd, time.Now())
	if err != nil {
		return err
	}
	g, h, err := f.holder(cmd, &f.placeFlags)
	if err != nil {
		return err
	}
	defer g.close()
	told, err := c.resetCounter(cmd.Context(), g, h, name, key)
	if err != nil {
		return err
	}
	if err := told.record(cmd.Context(), h.said.table, note); err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, told)
	}
	p := printer{w: c.stdout}
	p.line("rule %s has forgotten %s", told.Rule, told.Key)
	return p.err
}

func (c *cli) resetCounter(ctx context.Context, g *ground, h *holder, name, key string) (*resetTold, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	rule, err := ruleNamed(g.set, name)
	if err != nil {
		return nil, err
	}
	keys, err := g.set.KeysFor(rule, key, h.req)
	if err != nil {
		return nil, err
	}
	ct, err := h.counter(ctx, rule, keys)
	if err != nil {
		return nil, err
	}
	if err := c.checkKnown(&ct); err != nil {
		return nil, err
	}
	store, _ := g.shared()
	if err := store.Reset(ctx, ct.charge.Key); err != nil {
		return nil, err
	}
	return &resetTold{Rule: name, Key: keys.Counter, Counter: ct.charge.Key, Reset: true}, nil
}

// record writes the reset into the history of the rules, if they are in a table. The counter comes first: it may be in another
// store, and a line that is missing is told here, where one too many would tell nobody.
func (r *resetTold) record(ctx context.Context, table *ruletable.Table, note ruletable.Note) error {
	if table == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if err := table.RecordReset(ctx, r.Rule, r.Key, r.Counter, note); err != nil {
		return fmt.Errorf("the counter %s is reset, but the history does not have it: %w", r.Counter, err)
	}
	return nil
}

// checkKnown refuses a key whose override is not known, as it may have a counter of its own, unless nobody can say more.
func (c *cli) checkKnown(ct *counter) error {
	if len(ct.missing) == 0 {
		return nil
	}
	what := fmt.Sprintf("rule %s: the key of its override holds %s, and an override may have a counter of its own",
		ct.rule.Name, strings.Join(ct.missing, ", "))
	if flags := toGive(ct.missing); flags != "" {
		return fmt.Errorf("%s: give %s", what, flags)
	}
	c.say("warning: %s, which stays", what)
	return nil
}
