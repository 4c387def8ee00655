package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// againstFlags name recorded traffic that shows what new rules would change.
type againstFlags struct {
	logs   []string
	format string
}

func (f *againstFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.logs, "against", nil, "recorded traffic to send through old and new rules, a `LOG`; may be repeated")
	cmd.Flags().StringVar(&f.format, "format", "", "the logs' `FORMAT`: clf, jsonl or csv (default: by suffix)")
}

// against returns the logs to compare by; none if there is no such flag.
func (c *cli) against(cmd *cobra.Command, f *againstFlags) ([]replay.Log, error) {
	if f.format != "" && len(f.logs) == 0 {
		return nil, usagef(cmd, "--format says what the logs of --against hold: name one, or leave it out")
	}
	return c.logs(cmd, f.format, f.logs)
}

// compare sends recorded traffic through two sets of rules, with counters in memory and the overrides of a table, nil for
// none. Windows go by the log's clock, overrides by today's, because a publish changes what comes after it: what holds now
// counts for the whole log, a grant too, though it was not there then; what has ended counts for nothing. That goes for the
// overrides of the documents too.
func (c *cli) compare(ctx context.Context, logs []replay.Log, current, next *rules.Set, table *ruletable.Table) (*replay.Comparison, error) {
	if err := c.unlockBoth(current, next, table != nil); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	var failures replay.Failures
	options := engine.Options{Local: memory.New(0), Recorder: &failures, Today: time.Now()}
	if table != nil {
		options.Overrides = c.tableOverrides(table) // one for both: each key is looked up once
	}
	under := func(set *rules.Set) *engine.Engine {
		o := options
		o.Rules, o.Store = engine.Fixed{Set: set}, memory.New(replayKeys/2)
		return engine.New(o)
	}
	progress := c.newProgress(time.Now)
	defer progress.clear()
	result, err := replay.Compare(ctx, logs, under(current), under(next), progress.show, c.logWarning)
	progress.clear()
	c.saySkipped(&result.Extent)
	if errors.Is(err, context.Canceled) {
		return nil, errors.New("interrupted")
	}
	if first := failures.First(); first != nil {
		return nil, fmt.Errorf("--against: the requests cannot be compared: %w", inOneLine(first))
	}
	return result, failed(result.Requests, 0, err, nil)
}

// unlockBoth takes the secrets of both sets from the environment, which must have them if keys are those of a table.
func (c *cli) unlockBoth(current, next *rules.Set, shared bool) error {
	for _, side := range []struct {
		name string
		set  *rules.Set
	}{{"the rules in force", current}, {"the new rules", next}} {
		switch err := c.unlock(side.set, shared); {
		case err != nil && next.Collides(current):
			return fmt.Errorf("%s: %w; the two need two secrets: keep the old one in its variable, and name another variable in the new rules' "+
				"hash_secret.env, or leave out --against", side.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", side.name, err)
		}
	}
	return nil
}

// comparisonTold is a comparison for programs.
type comparisonTold struct {
	Requests  int64            `json:"requests"` // read and judged under both
	Skipped   int64            `json:"skipped"`  // lines that could not be read
	ToDenied  int64            `json:"to_denied"`
	ToAllowed int64            `json:"to_allowed"`
	Rules     []ruleChangeTold `json:"rules"`
	Keys      []keyChangeTold  `json:"keys"` // the ten most changed
}

type ruleChangeTold struct {
	Rule      string `json:"rule"`
	ToDenied  int64  `json:"to_denied"`
	ToAllowed int64  `json:"to_allowed"`
}

type keyChangeTold struct {
	Rule      string `json:"rule"`
	Key       string `json:"key"`
	ToDenied  int64  `json:"to_denied"`
	ToAllowed int64  `json:"to_allowed"`
}

func tellComparison(c *replay.Comparison) *comparisonTold {
	told := &comparisonTold{
		Requests: c.Requests, Skipped: c.Skipped, ToDenied: c.ToDenied, ToAllowed: c.ToAllowed,
		Rules: []ruleChangeTold{}, Keys: []keyChangeTold{},
	}
	for _, r := range c.Rules {
		told.Rules = append(told.Rules, ruleChangeTold(r))
	}
	for _, k := range c.Keys {
		told.Keys = append(told.Keys, keyChangeTold(k))
	}
	return told
}

// printComparison prints a comparison for people.
func printComparison(p *printer, c *replay.Comparison, paint colours) {
	p.line("")
	p.line("of %s in %s of traffic:", plural(int(c.Requests), "recorded request"), brief(c.Last.Sub(c.First)))
	p.table("lrrl", [][]string{
		{"  allowed before, denied now", thousands(c.ToDenied), percent(c.ToDenied, c.Requests), paint.red(bar(c.ToDenied, c.Requests))},
		{"  denied before, allowed now", thousands(c.ToAllowed), percent(c.ToAllowed, c.Requests), paint.green(bar(c.ToAllowed, c.Requests))},
	})
	var ruleRows, keyRows [][]string
	for _, r := range c.Rules {
		ruleRows = append(ruleRows, []string{thousands(r.ToDenied), thousands(r.ToAllowed), r.Rule})
	}
	for _, k := range c.Keys {
		keyRows = append(keyRows, []string{thousands(k.ToDenied), thousands(k.ToAllowed), k.Rule, k.Key})
	}
	p.section("rrl", []string{"now denied", "now allowed", "rule"}, ruleRows)
	p.section("rrll", []string{"now denied", "now allowed", "rule", "key"}, keyRows)
}
