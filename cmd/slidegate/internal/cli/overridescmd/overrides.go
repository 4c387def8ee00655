// Package overridescmd has the commands of slidegate overrides, and slidegate
// grant, which raises a key's capacity for a while.
package overridescmd

import (
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

// Command returns slidegate overrides.
func Command(c *command.Console) *cobra.Command {
	cmd := command.Group("overrides", "Change the limits of single keys, without publishing rules",
		getCommand(c), setCommand(c), deleteCommand(c), listCommand(c), importCommand(c))
	cmd.Long = `An override changes the limits of one key: another capacity, other limits, none, or a denial. These
commands keep overrides in the rules table, where they have precedence over overrides in the rules. They take
effect within ten seconds, and publishing rules never changes them.

If RULE is plan, the override says which plan a caller has. KEY has the form of the rule's override keys,
such as tenant:acme; special characters in a value are escaped for you.`
	return cmd
}

// overrideRows are the lines of an override under a name.
func overrideRows(name string, r *operator.OverrideReport) (rows term.Labelled) {
	if r == nil {
		return term.Labelled{{name, "none"}}
	}
	for _, line := range r.Lines() {
		rows.Add(name, line)
		name = ""
	}
	return rows
}

func printChange(p *term.Printer, r *operator.KeyChangeReport) {
	p.Line("override of %s for %s", r.Rule, text.Printable(r.Key))
	before := overrideRows("  before", r.Before)
	if r.Before == nil && r.BeforeDocument != "" {
		before = term.Labelled{{"  before", "a document that cannot be read: " + text.Printable(r.BeforeDocument)}}
	}
	p.Table("ll", append(before, overrideRows("  now", r.After)...))
}
