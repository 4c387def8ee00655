// Package rulescmd has the commands of slidegate rules.
package rulescmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Command returns slidegate rules.
func Command(c *command.Console) *cobra.Command {
	return command.Group("rules", "Check, publish and look back at rules", validateCommand(c), diffCommand(c), applyCommand(c), listCommand(c),
		getCommand(c), rollbackCommand(c), historyCommand(c), importCommand(c))
}

// listing shows the newest items of a kind that a rules table has.
type listing[T any] struct {
	name, things string // in JSON, and in the help of --limit
	read         func(*ruletable.Table, context.Context) iter.Seq2[T, error]
	none         string // the note for a table without any
	layout       string
	header       []string
	row          func(*T) []string
}

func (l listing[T]) command(c *command.Console, cmd *cobra.Command) *cobra.Command {
	var limit int
	var place string
	cmd.Args = command.NoArguments
	command.Limit(cmd, &limit, l.things, 20)
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, _ []string) (map[string][]T, error) {
		items := []T{}
		place = session.DynamoScheme + table.Name()
		for item, err := range l.read(table, ctx) {
			if err != nil {
				return nil, err
			}
			if items = append(items, item); len(items) == limit { // 0 is none
				break
			}
		}
		return map[string][]T{l.name: items}, nil
	}, func(p *command.Printer, r map[string][]T) {
		rows := [][]string{l.header}
		for i := range r[l.name] {
			rows = append(rows, l.row(&r[l.name][i]))
		}
		if len(rows) == 1 {
			c.Note(l.none, place)
		} else {
			p.Table(l.layout, rows)
		}
	})
}

func parseVersion(given string) (int64, error) {
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 1 {
		return 0, command.Usagef("%q is no version: want a number such as 12; `slidegate rules list` shows the versions", given)
	}
	return n, nil
}

func listCommand(c *command.Console) *cobra.Command {
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

func getCommand(c *command.Console) *cobra.Command {
	var version int64 // 0 for the one in force
	var output string
	cmd := &cobra.Command{
		Use:   "get [VERSION] --rules dynamodb://TABLE",
		Short: "Print a published version",
		Long:  `Get prints the rules of a version as they were published, by default of the one in force.`,
		Example: `  slidegate rules get --rules dynamodb://slidegate-rules --output rules.yaml
  slidegate rules get 12 --rules dynamodb://slidegate-rules`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			if err = command.Positional(0, 1, "one version at most")(cmd, args); err == nil && len(args) > 0 {
				version, err = parseVersion(args[0])
			}
			return err
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "write the rules to a `FILE`")
	return command.OnTable(c, cmd, func(ctx context.Context, table *ruletable.Table, _ []string) (*documentReport, error) {
		current, err := table.Current(ctx)
		if err != nil && (version == 0 || !errors.Is(err, ruletable.ErrDamaged)) {
			return nil, err
		}
		v, err := table.Get(ctx, cmp.Or(version, current))
		if err != nil {
			return nil, err
		}
		v.InForce = v.Number == current
		return &documentReport{*v, string(v.Text), v.Document}, nil
	}, func(p *command.Printer, r *documentReport) {
		p.Err = command.WriteText(output, c.Stdout, r.Text)
	})
}

// documentReport is a published version with its rules.
type documentReport struct {
	ruletable.Version
	Text     string            `json:"text"` // as its author wrote it
	Document *ruledoc.Document `json:"document"`
}

func historyCommand(c *command.Console) *cobra.Command {
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
deleted and imported, grants, counters reset, and API keys made, revoked and rotated.`,
		Example: `  slidegate rules history --rules dynamodb://slidegate-rules
  slidegate rules history --rules dynamodb://slidegate-rules --limit 100 --json`,
	})
}

// eventText describes a change.
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
			return fmt.Sprintf("%s %s: %s", engine.PolicyName(e.Rule, e.Grant.Limit), e.Key,
				grantText(&ruletable.Grant{Add: e.Grant.Add, Until: e.Grant.Until}))
		}
	case ruletable.CounterReset:
		return fmt.Sprintf("%s %s: counter reset", e.Rule, e.Key)
	case ruletable.OverridesImported:
		return importText(e)
	case ruletable.APIKeyCreated, ruletable.APIKeyRevoked, ruletable.APIKeyRotated:
		return apiKeyText(e)
	}
	return string(e.Kind)
}

func apiKeyText(e *ruletable.Event) string {
	key := "API key " + e.APIKey
	if e.ID != e.APIKey && e.ID != "" {
		key += " of " + e.ID
	}
	switch e.Kind {
	case ruletable.APIKeyRotated:
		return fmt.Sprintf("%s: replaced by %s, ends at %s", key, e.NewAPIKey, text.Stamp(e.Until))
	case ruletable.APIKeyRevoked:
		return key + ": revoked"
	}
	if e.Until.IsZero() {
		return key + ": created"
	}
	return key + ": created, ends at " + text.Stamp(e.Until)
}

func importText(e *ruletable.Event) string {
	switch {
	case e.Unfinished:
		return fmt.Sprintf("%s: import of %s begun and not finished", e.Rule, text.Plural(e.Total, "override"))
	case e.Failure != "":
		return fmt.Sprintf("%s: %s of %s overrides imported, then %s", e.Rule, text.Thousands(e.Written), text.Thousands(e.Total), e.Failure)
	case e.Unchanged > 0:
		return fmt.Sprintf("%s: %s imported, %s unchanged", e.Rule, text.Plural(e.Written, "override"), text.Thousands(e.Unchanged))
	}
	return fmt.Sprintf("%s: %s imported", e.Rule, text.Plural(e.Written, "override"))
}

func after(version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf(" after %d", version)
}

// beforeText describes what a change replaced; empty for nothing.
func beforeText(e *ruletable.Event) string {
	var before []string
	if e.Before != "" {
		before = append(before, string(e.Before))
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
