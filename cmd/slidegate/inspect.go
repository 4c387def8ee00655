package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
)

type inspectFlags struct {
	placeFlags
	rule string
	json bool
}

func (c *cli) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Show a key's counters",
		Long: `Inspect shows what a key has used of each limit that counts it, when it is empty again, and how long the next
request would have to wait. Keys look as replays and logs print them. It charges nothing.`,
		Example: `  slidegate inspect ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate inspect user:7 --rule chat --rules rules.yaml --store redis://127.0.0.1:6379/0 --json`,
		Args: positional(1, 1, "one key"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.inspect(cmd, &f, args[0]) },
	}
	f.add(cmd, "")
	cmd.Flags().StringVar(&f.rule, "rule", "", "show this `RULE`'s counter alone (default: every rule whose keys look like KEY)")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) inspect(cmd *cobra.Command, f *inspectFlags, key string) error {
	where, err := f.resolveShared(cmd)
	if err != nil {
		return err
	}
	g, err := open(cmd.Context(), where, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer g.close()
	counters, err := countersOf(g.set, f.rule, key)
	if err != nil {
		return err
	}
	if err := g.peek(cmd.Context(), counters); err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, inspected(key, counters))
	}
	return printCounters(c.stdout, counters, c.colours(c.stdout))
}

// counter is what one rule counts a key by, and what it would say of the next request.
type counter struct {
	rule    *rules.Rule
	charge  limit.Charge
	verdict limit.Verdict
}

// countersOf returns the counters of a key: the named rule's, or those of every rule that could have made such a key.
func countersOf(set *rules.Set, name, key string) ([]counter, error) {
	candidates := set.Rules
	if name != "" {
		rule, err := ruleNamed(set, name)
		if err != nil {
			return nil, err
		}
		candidates = []*rules.Rule{rule}
	}
	var counters []counter
	var problems []error
	for _, rule := range candidates {
		item, err := rule.ItemFor(key)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		counters = append(counters, counter{rule: rule, charge: limit.Charge{Key: item, Limits: rule.Limits, Costs: rule.Costs}})
	}
	if len(counters) == 0 {
		return nil, fmt.Errorf("no rule counts this key: %w", errors.Join(problems...))
	}
	return counters, nil
}

func ruleNamed(set *rules.Set, name string) (*rules.Rule, error) {
	if rule, ok := set.Rule(name); ok {
		return rule, nil
	}
	names := make([]string, len(set.Rules))
	for i, r := range set.Rules {
		names[i] = r.Name
	}
	return nil, fmt.Errorf("there is no rule %q: the rules are %s", name, strings.Join(names, ", "))
}

// peek reads the counters.
func (g *ground) peek(ctx context.Context, counters []counter) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	store, now := g.shared()
	for i := range counters {
		ct := &counters[i]
		if err := store.Peek(ctx, now(), &ct.charge, &ct.verdict); err != nil {
			return fmt.Errorf("rule %s: %w", ct.rule.Name, err)
		}
	}
	return nil
}

// inspection is what inspect --json prints.
type inspection struct {
	Key   string        `json:"key"`
	Rules []counterTold `json:"rules"`
}

type counterTold struct {
	Rule   string      `json:"rule"`
	Limits []limitTold `json:"limits"`
}

type limitTold struct {
	limitShown
	Used       int64   `json:"used"`
	Remaining  int64   `json:"remaining"`
	Reset      float64 `json:"reset_s"`       // until the key is empty again
	RetryAfter float64 `json:"retry_after_s"` // until the next request is allowed; 0 for now, -1 for never
}

func inspected(key string, counters []counter) inspection {
	told := inspection{Key: key}
	for i := range counters {
		ct := &counters[i]
		one := counterTold{Rule: ct.rule.Name}
		for j := range ct.rule.Limits {
			l, r := &ct.rule.Limits[j], &ct.verdict.Limits[j]
			one.Limits = append(one.Limits, limitTold{
				showLimit(l, ct.rule.Costs[j]), l.Most() - r.Remaining, r.Remaining, r.Reset.Seconds(), retrySeconds(r.RetryAfter),
			})
		}
		told.Rules = append(told.Rules, one)
	}
	return told
}

func retrySeconds(d time.Duration) float64 {
	if d == limit.Never {
		return -1
	}
	return d.Seconds()
}

func printCounters(w io.Writer, counters []counter, paint colours) error {
	rows := [][]string{{"limit", "holds", "window", "used", "remaining", "empty in", "retry after", ""}}
	for i := range counters {
		ct := &counters[i]
		for j := range ct.rule.Limits {
			l, r := &ct.rule.Limits[j], &ct.verdict.Limits[j]
			used := l.Most() - r.Remaining
			picture := paint.green(bar(used, l.Most()))
			if !r.Allowed {
				picture = paint.red(bar(used, l.Most()))
			}
			rows = append(rows, []string{
				policyName(ct.rule, j), thousands(l.Most()), spellWindow(l), thousands(used), thousands(r.Remaining),
				wait(r.Reset), retry(r), picture,
			})
		}
	}
	p := printer{w: w}
	p.table("lrrrrrrl", rows)
	return p.err
}

// retry says when the next request would be allowed.
func retry(r *limit.Result) string {
	switch {
	case r.Allowed:
		return "now"
	case r.RetryAfter == limit.Never:
		return "never"
	}
	return wait(r.RetryAfter)
}

// wait spells a time to wait, rounded up to a tenth of a second.
func wait(d time.Duration) string {
	const step = 100 * time.Millisecond
	return spell((d + step - 1).Truncate(step))
}
