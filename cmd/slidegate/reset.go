package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"
)

type resetFlags struct {
	placeFlags
	json bool
}

func (c *cli) resetCommand() *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset RULE KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Empty a key's counter",
		Long: `Reset deletes what a rule has counted for a key: its next request starts afresh, in every process within ten
seconds, or with Redis at once. A window that was full is empty after it.`,
		Example: `  slidegate reset per-ip ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters`,
		Args:    positional(2, 2, "a rule and a key"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.reset(cmd, &f, args[0], args[1]) },
	}
	f.add(cmd, "")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) reset(cmd *cobra.Command, f *resetFlags, name, key string) error {
	where, err := f.resolveShared(cmd)
	if err != nil {
		return err
	}
	g, err := open(cmd.Context(), where, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer g.close()
	rule, err := ruleNamed(g.set, name)
	if err != nil {
		return err
	}
	item, err := rule.ItemFor(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), startTime)
	defer cancel()
	store, _ := g.shared()
	if err := store.Reset(ctx, item); err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Rule  string `json:"rule"`
			Key   string `json:"key"`
			Reset bool   `json:"reset"`
		}{name, key, true})
	}
	p := printer{w: c.stdout}
	p.line("rule %s has forgotten %s", name, key)
	return p.err
}
