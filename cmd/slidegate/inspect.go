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
	callerFlags
	rule string
	json bool
}

func (c *cli) inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect KEY --rules FILE|dynamodb://TABLE --store dynamodb://TABLE|redis://HOST:PORT/DB",
		Short: "Show a key's counters",
		Long: `Inspect shows what a key has used of each limit that counts it, when it is empty again, and how long the next
request would have to wait. It charges nothing. KEY is written as replays and logs print it, or with its
values as they are.

The override of the key has its say. Where limits depend on the caller's plan, or months begin on a day that
the caller's token names, give the claims.`,
		Example: `  slidegate inspect ip:203.0.113.9 --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate inspect user:7 --claim plan=pro --rules rules.yaml --store redis://127.0.0.1:6379/0
  slidegate inspect user:7 --rule chat --rules rules.yaml --store redis://127.0.0.1:6379/0 --json`,
		Args:              positional(1, 1, "one key"),
		ValidArgsFunction: inTurn(f.counterKeys(func([]string) string { return f.rule })),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.inspect(cmd, &f, args[0]) },
	}
	f.placeFlags.add(cmd, "")
	f.callerFlags.add(cmd)
	cmd.Flags().StringVar(&f.rule, "rule", "", "show this `RULE`'s counter alone (default: every rule whose keys look like KEY)")
	jsonFlag(cmd, &f.json)
	complete(cmd, "rule", f.ruleNames())
	return cmd
}

func (c *cli) inspect(cmd *cobra.Command, f *inspectFlags, key string) error {
	g, h, err := f.holder(cmd, &f.placeFlags)
	if err != nil {
		return err
	}
	defer g.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	counters, left, err := h.countersOf(ctx, f.rule, key)
	if err != nil {
		return err
	}
	for _, reason := range left {
		c.say("warning: left out %v", reason)
	}
	if err := g.peek(ctx, counters); err != nil {
		return err
	}
	if f.json {
		return printJSON(c.stdout, inspected(key, counters))
	}
	return printCounters(c.stdout, counters, c.colours(c.stdout))
}

// holder opens the rules and the counters, and returns whose counters to look at. Who calls it closes the ground.
func (f *callerFlags) holder(cmd *cobra.Command, p *placeFlags) (*ground, *holder, error) {
	req := &rules.Request{}
	if err := f.fill(cmd, req); err != nil {
		return nil, nil, err
	}
	where, err := p.resolveShared(cmd)
	if err != nil {
		return nil, nil, err
	}
	g, err := open(cmd.Context(), where, loadHashSecret, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	_, now := g.shared()
	return g, &holder{g.said(&where, now()), req}, nil
}

// countersOf returns the counters of a key: the named rule's, or those of every rule that could have made such a key, and why
// rules are left out that could have too.
func (h *holder) countersOf(ctx context.Context, name, key string) (counters []counter, left []error, err error) {
	candidates := h.said.set.Rules
	if name != "" {
		rule, err := ruleNamed(h.said.set, name)
		if err != nil {
			return nil, nil, err
		}
		candidates = []*rules.Rule{rule}
	}
	keys, left, err := keysOf(h.said.set, candidates, key, h.req)
	if err != nil {
		return nil, nil, err
	}
	for _, rule := range candidates {
		if keys, ok := keys[rule]; ok {
			ct, err := h.counter(ctx, rule, keys)
			if err != nil {
				return nil, nil, err
			}
			counters = append(counters, ct)
		}
	}
	return counters, left, nil
}

// keysOf returns the keys that somebody can mean. What is a key of some rules as it stands is no other key of others.
// left says of which rules it cannot be told, as they hash their keys.
func keysOf(set *rules.Set, candidates []*rules.Rule, text string, req *rules.Request) (keys map[*rules.Rule]rules.Keys, left []error, err error) {
	asItIs, typed := map[*rules.Rule]rules.Keys{}, map[*rules.Rule]rules.Keys{}
	var problems []error
	for _, rule := range candidates {
		keys, err := set.KeysFor(rule, text, req)
		switch {
		case errors.Is(err, rules.ErrHashSecret):
			left = append(left, err)
		case err != nil:
			problems = append(problems, err)
		case keys.AsItIs:
			asItIs[rule] = keys
		default:
			typed[rule] = keys
		}
	}
	switch {
	case len(asItIs) > 0:
		return asItIs, left, nil
	case len(typed) > 0:
		return typed, left, nil
	case len(left) > 0:
		return nil, nil, errors.Join(left...)
	}
	return nil, nil, fmt.Errorf("no rule counts this key: %w", errors.Join(problems...))
}

func ruleNamed(set *rules.Set, name string) (*rules.Rule, error) {
	if rule, ok := set.Rule(name); ok {
		return rule, nil
	}
	return nil, fmt.Errorf("there is no rule %q: the rules are %s", name, strings.Join(ruleNames(set), ", "))
}

func ruleNames(set *rules.Set) []string {
	names := make([]string, len(set.Rules))
	for i, r := range set.Rules {
		names[i] = r.Name
	}
	return names
}

// peek reads the counters.
func (g *ground) peek(ctx context.Context, counters []counter) error {
	store, now := g.shared()
	for i := range counters {
		ct := &counters[i]
		if ct.idle() != "" {
			continue
		}
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
	Rule     string        `json:"rule"`
	Counter  string        `json:"counter"`
	Override *overrideTold `json:"override,omitempty"`
	Missing  []string      `json:"override_unknown,omitempty"` // what the key of an override would take; there may be one
	Banned   *overrideTold `json:"plan_override,omitempty"`    // that denies everything to the caller
	Planless []string      `json:"plan_override_unknown,omitempty"`
	Lifted   string        `json:"lifted,omitempty"` // no counter is asked: unlimited, or refused by an override
	Limits   []limitTold   `json:"limits"`
}

func inspected(key string, counters []counter) inspection {
	told := inspection{Key: key}
	for i := range counters {
		ct := &counters[i]
		one := counterTold{
			Rule: ct.rule.Name, Counter: ct.charge.Key, Override: ct.override, Missing: ct.missing, Banned: ct.banned, Planless: ct.unplanned,
			Lifted: ct.idle(), Limits: []limitTold{},
		}
		for j := range ct.terms.Limits {
			if one.Lifted == "" {
				one.Limits = append(one.Limits, ct.tell(j))
			}
		}
		told.Rules = append(told.Rules, one)
	}
	return told
}

func printCounters(w io.Writer, counters []counter, paint colours) error {
	rows := [][]string{{"limit", "holds", "window", "used", "remaining", "empty in", "retry after", ""}}
	var remarks []string
	for i := range counters {
		ct := &counters[i]
		if idle := ct.idle(); idle != "" {
			rows = append(rows, []string{ct.rule.Name, idle, "", "", "", "", "", ""})
		} else {
			rows = append(rows, ct.rows(paint)...)
		}
		remarks = append(remarks, ct.remarks()...)
	}
	p := printer{w: w}
	p.table("lrrrrrrl", rows)
	for _, remark := range remarks {
		p.line("%s", remark)
	}
	return p.err
}

// remarks say where the numbers come from.
func (ct *counter) remarks() (remarks []string) {
	if ct.banned != nil {
		for _, line := range ct.banned.lines() {
			remarks = append(remarks, "override of plan: "+line)
		}
	}
	if ct.override != nil {
		for _, line := range ct.override.lines() {
			remarks = append(remarks, "override of "+ct.rule.Name+": "+line)
		}
	}
	return append(append(remarks, notKnown("plan", ct.unplanned)...), notKnown(ct.rule.Name, ct.missing)...)
}

// notKnown remarks on an override whose key is not known; nothing if no source of it is missing.
func notKnown(rule string, missing []string) []string {
	if len(missing) == 0 {
		return nil
	}
	remark := fmt.Sprintf("override of %s: not known, for its key holds %s", rule, strings.Join(missing, ", "))
	if flags := toGive(missing); flags != "" {
		remark += "; give " + flags
	}
	return []string{remark}
}

func (ct *counter) rows(paint colours) (rows [][]string) {
	for j := range ct.terms.Limits {
		l, r := &ct.terms.Limits[j], &ct.verdict.Limits[j]
		used := l.Most() - r.Remaining
		picture := paint.green(bar(used, l.Most()))
		if !r.Allowed {
			picture = paint.red(bar(used, l.Most()))
		}
		rows = append(rows, []string{
			policyName(ct.rule.Name, l), thousands(l.Most()), spellWindow(l), thousands(used), thousands(r.Remaining),
			wait(r.Reset), retry(r), picture,
		})
	}
	return rows
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
