package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

type resetFlags struct {
	placeFlags
	callerFlags
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
on a day that the caller's token names, give the claim.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate reset export tenant:acme --claim billing_day=15 --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args:              positional(2, 2, "a rule and a key"),
		ValidArgsFunction: inTurn(f.ruleNames()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.reset(cmd, &f, args[0], args[1]) },
	}
	f.placeFlags.add(cmd, "")
	f.callerFlags.add(cmd)
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) reset(cmd *cobra.Command, f *resetFlags, name, key string) error {
	g, h, err := f.holder(cmd, &f.placeFlags)
	if err != nil {
		return err
	}
	defer g.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	rule, err := ruleNamed(g.set, name)
	if err != nil {
		return err
	}
	keys, err := rule.KeysFor(key, h.req)
	if err != nil {
		return err
	}
	ct, err := h.counter(ctx, rule, keys)
	if err != nil {
		return err
	}
	if err := c.checkKnown(&ct); err != nil {
		return err
	}
	store, _ := g.shared()
	if err := store.Reset(ctx, ct.charge.Key); err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Rule    string `json:"rule"`
			Key     string `json:"key"`
			Counter string `json:"counter"`
			Reset   bool   `json:"reset"`
		}{name, keys.Counter, ct.charge.Key, true})
	}
	p := printer{w: c.stdout}
	p.line("rule %s has forgotten %s", name, keys.Counter)
	return p.err
}

// checkKnown refuses a key whose override is not known, as it may have a counter of its own, unless nobody can say more.
func (c *cli) checkKnown(ct *counter) error {
	if len(ct.missing) == 0 {
		return nil
	}
	what := fmt.Sprintf("rule %s: the key of its override holds %s, and an override may have a counter of its own",
		ct.rule.Name, strings.Join(ct.missing, ", "))
	if flags := ct.toGive(); flags != "" {
		return fmt.Errorf("%s: give %s", what, flags)
	}
	c.say("warning: %s, which stays", what)
	return nil
}
