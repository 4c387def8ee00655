package cli

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/outfile"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) listCommand() *cobra.Command {
	return listing[ruletable.Version]{
		name: "versions", things: "versions", read: (*ruletable.Table).Versions,
		none:   "nothing is published in %s; `slidegate rules apply FILE` publishes rules",
		layout: "rllll", header: []string{"version", "", "published", "by", "why"},
		row: func(v *ruletable.Version) []string {
			mark := ""
			if v.InForce {
				mark = "in force"
			}
			return []string{text.Thousands(v.Number), mark, text.Stamp(v.When), text.Printable(v.Who), text.Printable(v.Why)}
		},
	}.command(c, &cobra.Command{
		Use:   "list --rules dynamodb://TABLE",
		Short: "List the published versions",
		Long:  `List shows the versions in a rules table, the newest first: who published each of them, when, and why.`,
		Example: `  slidegate rules list --rules dynamodb://slidegate-rules
  slidegate rules list --rules dynamodb://slidegate-rules --limit 5 --json`,
	})
}

func (c *cli) historyCommand() *cobra.Command {
	return listing[ruletable.Event]{
		name: "events", things: "changes", read: (*ruletable.Table).History,
		none:   "nothing has been changed in %s",
		layout: "llll", header: []string{"when", "who", "what", "why"},
		row: func(e *ruletable.Event) []string {
			return []string{text.Stamp(e.When), text.Printable(e.Who), text.Printable(eventText(e)), text.Printable(e.Why)}
		},
	}.command(c, &cobra.Command{
		Use:   "history --rules dynamodb://TABLE",
		Short: "Show who changed what, and why",
		Long: `History shows every change of a rules table, the newest first: versions published and rolled back, overrides set,
deleted and imported, grants, and counters reset.`,
		Example: `  slidegate rules history --rules dynamodb://slidegate-rules
  slidegate rules history --rules dynamodb://slidegate-rules --limit 100 --json`,
	})
}

// listing shows the newest items of a kind that a rules table has.
type listing[T any] struct {
	name, things string // in JSON, and in the help of --limit
	read         func(*ruletable.Table, context.Context) iter.Seq2[T, error]
	none         string // what to say of a table without any
	layout       string
	header       []string
	row          func(*T) []string
}

func (l listing[T]) command(c *cli, cmd *cobra.Command) *cobra.Command {
	var f flags.Table
	var limit int
	cmd.Args, cmd.ValidArgsFunction = flags.NoArguments, flags.NoWords
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return l.run(c, cmd, &f, limit) }
	f.Add(cmd)
	flags.Limit(cmd, &limit, l.things, 20)
	return cmd
}

func (l listing[T]) run(c *cli, cmd *cobra.Command, f *flags.Table, limit int) error {
	if err := flags.CheckLimit(cmd, limit); err != nil {
		return err
	}
	table, err := f.Open(cmd)
	if err != nil {
		return err
	}
	items, err := operator.First(l.read(table, cmd.Context()), limit)
	if err == nil && len(items) == 0 && !f.JSON {
		c.Note(l.none, f.Rules)
		return nil
	}
	return c.report(f.JSON, map[string][]T{l.name: items}, err, func(p *term.Printer) {
		rows := [][]string{l.header}
		for i := range items {
			rows = append(rows, l.row(&items[i]))
		}
		p.Table(l.layout, rows)
	})
}

// eventText says what was changed.
func eventText(e *ruletable.Event) string {
	switch e.Kind {
	case ruletable.Published:
		return fmt.Sprintf("version %d published%s", e.To, after(e.From))
	case ruletable.RolledBack:
		return fmt.Sprintf("version %d in force again%s", e.To, after(e.From))
	case ruletable.OverrideSet:
		return fmt.Sprintf("%s %s: %s%s", e.Rule, e.Key, e.After, beforeText(e))
	case ruletable.OverrideDeleted:
		return fmt.Sprintf("%s %s: deleted%s", e.Rule, e.Key, beforeText(e))
	case ruletable.Granted:
		if e.Grant != nil {
			return fmt.Sprintf("%s %s: %s", engine.PolicyName(e.Rule, e.Grant.Limit), e.Key, grantText(&ruletable.Grant{Add: e.Grant.Add, Until: e.Grant.Until}))
		}
	case ruletable.CounterReset:
		return fmt.Sprintf("%s %s: counter reset", e.Rule, e.Key)
	case ruletable.OverridesImported:
		if e.Failure != "" {
			return fmt.Sprintf("%s: %s of %s overrides imported, then %s", e.Rule, text.Thousands(e.Written), text.Thousands(e.Total), e.Failure)
		}
		return fmt.Sprintf("%s: %s imported", e.Rule, text.Plural(e.Written, "override"))
	}
	return string(e.Kind)
}

func after(version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d", version)
}

// beforeText says what the change has replaced.
func beforeText(e *ruletable.Event) string {
	var before []string
	if e.Before != "" {
		before = append(before, e.Before)
	}
	for i := range e.Grants {
		before = append(before, grantText(&e.Grants[i]))
	}
	if before == nil {
		return ""
	}
	return ", before: " + strings.Join(before, ", ")
}

func grantText(g *ruletable.Grant) string {
	return strings.TrimSpace("+"+text.Thousands(g.Add)+" "+g.Limit) + " until " + text.Stamp(g.Until)
}

type getFlags struct {
	flags.Table
	output string
}

func (c *cli) getCommand() *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [VERSION] --rules dynamodb://TABLE",
		Short: "Print a published version",
		Long:  `Get prints the rules of a version as they were published, by default of the one in force.`,
		Example: `  slidegate rules get --rules dynamodb://slidegate-rules --output rules.yaml
  slidegate rules get 12 --rules dynamodb://slidegate-rules`,
		Args:              flags.Positional(0, 1, "one version at most"),
		ValidArgsFunction: flags.InTurn(f.Versions()),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.getVersion(cmd, &f, args) },
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.output, "output", "", "write the rules to a `FILE`")
	return cmd
}

func (c *cli) getVersion(cmd *cobra.Command, f *getFlags, args []string) (err error) {
	version := int64(0)
	if len(args) > 0 {
		if version, err = parseVersion(cmd, args[0]); err != nil {
			return err
		}
	}
	table, err := f.Open(cmd)
	if err != nil {
		return err
	}
	r, err := operator.Document(cmd.Context(), table, version)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(c.stdout, r)
	}
	return outfile.Write(f.output, c.stdout, []byte(r.Document))
}
