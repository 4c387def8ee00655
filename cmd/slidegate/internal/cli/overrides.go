package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

func (c *cli) overridesCommand() *cobra.Command {
	cmd := group("overrides", "Change the limits of single keys, without publishing rules",
		c.overridesGetCommand(), c.overridesSetCommand(), c.overridesDeleteCommand(), c.overridesListCommand(), c.overridesImportCommand())
	cmd.Long = `An override changes the limits of one key: another capacity, other limits, none, or a denial. These
commands keep overrides in the rules table, where they have precedence over overrides in the rules. They take
effect within ten seconds, and publishing rules never changes them.

If RULE is plan, the override says which plan a caller has. KEY has the form of the rule's override keys,
such as tenant:acme; special characters in a value are escaped for you.`
	return cmd
}

// overrideLines describes an override: its terms, then each grant.
func overrideLines(r *operator.OverrideReport) (lines []string) {
	if r == nil {
		return nil
	}
	if says := r.Summary(); says != "" {
		if !r.Until.IsZero() {
			says += ending(r.Until, r.InForce)
		}
		lines = append(lines, says+operator.Because(r.Why)+author(r.Who, r.When, r.InRules()))
	}
	for _, g := range r.Grants {
		line := "+" + text.Thousands(g.Add)
		if g.Limit != "" {
			line += " " + g.Limit
		}
		lines = append(lines, line+ending(g.Until, g.Left > 0)+operator.Because(g.Why)+author(g.Who, g.When, false))
	}
	return lines
}

func ending(until time.Time, inForce bool) string {
	if inForce {
		return " until " + text.Stamp(until)
	}
	return ", ended " + text.Stamp(until)
}

// author says who set something, and when or where.
func author(who string, when time.Time, inRules bool) string {
	switch {
	case !when.IsZero() && who != "":
		return fmt.Sprintf(" (%s, %s)", text.Printable(who), text.Stamp(when))
	case inRules:
		return " (in the rules)"
	}
	return ""
}

// overrideRows are the lines of an override under a name.
func overrideRows(name string, r *operator.OverrideReport) (rows labelled) {
	if r == nil {
		return labelled{{name, "none"}}
	}
	for _, line := range overrideLines(r) {
		rows.add(name, line)
		name = ""
	}
	return rows
}

func printChange(p *term.Printer, r *operator.KeyChangeReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	before := overrideRows("  before", r.Before)
	if r.Before == nil && r.BeforeDocument != "" {
		before = labelled{{"  before", "a document that cannot be read: " + text.Printable(r.BeforeDocument)}}
	}
	p.Table("ll", append(before, overrideRows("  now", r.After)...))
}
