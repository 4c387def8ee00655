package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) overridesCommand() *cobra.Command {
	cmd := group("overrides", "Change the limits of single keys, without publishing rules",
		c.overridesGetCommand(), c.overridesSetCommand(), c.overridesDeleteCommand(), c.overridesListCommand(), c.overridesImportCommand())
	cmd.Long = `An override says something else of one key than its rule does: another capacity, other limits, none, or a denial.
Those set here are items of the rules table, and come before those that the rules themselves hold. They take
effect within ten seconds, and publishing rules never touches them.

Where RULE is plan, the override says which plan a caller has. KEY is written as the rule's overrides spell it,
such as tenant:acme; what is special in a value is escaped for you.`
	return cmd
}

// overrideTarget is one key of a rule in a table, and what the rules in force say of it.
type overrideTarget struct {
	table *ruletable.Table
	set   *rules.Set
	rule  string // or rules.PlanOverrides
	key   string

	unused string // why no request looks the key up; empty where requests do
	other  string // a key that no request looks up, and that the table has besides; empty for none
}

// place is how messages speak of it.
func (t *overrideTarget) place() string {
	return fmt.Sprintf("override of rule %s for key %s", t.rule, plainText(t.key))
}

// said returns what was said of keys, as it is at a moment.
func (t *overrideTarget) said(now time.Time) *said {
	return &said{set: t.set, table: t.table, now: now, found: map[[2]string]spoken{}}
}

// openRules returns the table and the rules in force.
func (f *tableFlags) openRules(cmd *cobra.Command) (*ruletable.Table, *rules.Set, error) {
	table, err := f.open(cmd)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), lookTime)
	defer cancel()
	set, _, err := inForce(ctx, table)
	return table, set, err
}

// target finds the key that somebody has typed, which must be one of the rule's overrides.
func (f *tableFlags) target(cmd *cobra.Command, rule, text string) (*overrideTarget, error) {
	table, set, err := f.openRules(cmd)
	if err != nil {
		return nil, err
	}
	if err := knownRule(set, rule); err != nil {
		return nil, err
	}
	key, err := set.OverrideKey(rule, text)
	if err != nil {
		return nil, err
	}
	return &overrideTarget{table: table, set: set, rule: rule, key: key}, nil
}

// knownRule refuses a name that no rule has.
func knownRule(set *rules.Set, name string) error {
	if name == rules.PlanOverrides {
		return nil
	}
	_, err := ruleNamed(set, name)
	return err
}

// wholeSecond returns the first whole second that is not before t, in UTC: what lasts less than a second must not end before
// it begins.
func wholeSecond(t time.Time) time.Time {
	second := t.UTC().Truncate(time.Second)
	if second.Before(t) {
		second = second.Add(time.Second)
	}
	return second
}

// parseUntil reads when something ends, of --until or --for; the zero Time for never.
func parseUntil(cmd *cobra.Command, until, span string, now time.Time) (end time.Time, err error) {
	switch {
	case until != "" && span != "":
		return end, usagef(cmd, "--until and --for both say when it ends: give one")
	case until != "":
		if end, err = time.Parse(time.RFC3339, until); err != nil {
			return end, usagef(cmd, "--until %s: want a time such as 2026-12-31T23:59:00Z", until)
		}
	case span != "":
		d, err := parseSpan(span)
		if err != nil {
			return end, usagef(cmd, "--for %s: want a time such as 90m, 12h or 7d", span)
		}
		end = now.Add(d)
	default:
		return end, nil
	}
	if !end.After(now) {
		return end, usagef(cmd, "it would end at %s, which is past", stamp(end))
	}
	if end = wholeSecond(end); end.Year() > 9999 {
		return end, usagef(cmd, "it would end after the year 9999, the last that can be written: give an earlier time")
	}
	return end, nil
}
