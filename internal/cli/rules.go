package cli

import (
	"context"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/cli/term"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) rulesCommand() *cobra.Command {
	return group("rules", "Check, publish and look back at rules", c.validateCommand(), c.diffCommand(), c.applyCommand(), c.listCommand(),
		c.getCommand(), c.rollbackCommand(), c.historyCommand(), c.rulesImportCommand())
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

func (l listing[T]) command(c *cli, cmd *cobra.Command) *cobra.Command {
	var where flags.Locations
	var limit int
	cmd.Args, cmd.ValidArgsFunction = flags.NoArguments, flags.NoWords
	where.AddTable(cmd)
	flags.Limit(cmd, &limit, l.things, 20)
	return reporting(c, cmd, func(ctx context.Context, _ []string) (map[string][]T, error) {
		table, err := session.OpenTable(ctx, where.RulesTable)
		if err != nil {
			return nil, err
		}
		items, err := operator.First(l.read(table, ctx), limit)
		return map[string][]T{l.name: items}, err
	}, func(p *term.Printer, r map[string][]T) {
		rows := [][]string{l.header}
		for i := range r[l.name] {
			rows = append(rows, l.row(&r[l.name][i]))
		}
		if len(rows) == 1 {
			c.Note(l.none, session.DynamoScheme+where.RulesTable)
		} else {
			p.Table(l.layout, rows)
		}
	})
}

func parseVersion(given string) (int64, error) {
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 1 {
		return 0, flags.Usagef("%q is no version: want a number such as 12; `slidegate rules list` shows the versions", given)
	}
	return n, nil
}
