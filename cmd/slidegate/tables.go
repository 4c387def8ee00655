package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/ruletable"
)

func (c *cli) tablesCommand() *cobra.Command {
	return group("tables", "Create the tables in DynamoDB", c.tablesCreateCommand())
}

type tablesFlags struct {
	counters, rules, store string
	json                   bool
}

func (c *cli) tablesCreateCommand() *cobra.Command {
	var f tablesFlags
	cmd := &cobra.Command{
		Use:   "create [--counters TABLE] [--rules TABLE]",
		Short: "Create the tables for counters and rules",
		Long: `Create makes the tables that do not exist yet, on demand, and waits until they can be used. A table that is
there is left as it is, but for its expiry, which counters need. Deployments by infra make their own.`,
		Example: `  slidegate tables create --counters slidegate-counters --rules slidegate-rules
  slidegate tables create --store dynamodb://slidegate-counters`,
		Args: positional(0, 0, "no arguments besides flags"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.createTables(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.counters, "counters", "", "the `TABLE` of counters")
	cmd.Flags().StringVar(&f.rules, "rules", "", "the `TABLE` of rules")
	cmd.Flags().StringVar(&f.store, "store", "", "the table of counters, as other commands name that `STORE`: dynamodb://TABLE")
	jsonFlag(cmd, &f.json)
	return cmd
}

// newTable is a table to create.
type newTable struct {
	dynamo.Table
	role  string
	probe func(context.Context, *dynamo.Client, string) error
}

// tableMade says what became of it.
type tableMade struct {
	Table   string `json:"table"`
	Role    string `json:"role"`
	Created bool   `json:"created"` // false if it was there
}

func (c *cli) createTables(cmd *cobra.Command, f *tablesFlags) error {
	tables, err := f.tables(cmd)
	if err != nil {
		return err
	}
	client, err := connect(cmd.Context(), survey(tables))
	if err != nil {
		return err
	}
	made := make([]tableMade, 0, len(tables))
	for _, t := range tables {
		created, err := client.Create(cmd.Context(), t.Table)
		if err != nil {
			return err
		}
		made = append(made, tableMade{t.Name, t.role, created})
	}
	if f.json {
		return printJSON(c.stdout, struct {
			Tables []tableMade `json:"tables"`
		}{made})
	}
	p := printer{w: c.stdout}
	for _, t := range made {
		if t.Created {
			p.line("created table %s for %s", t.Table, t.Role)
		} else {
			p.line("table %s for %s was there", t.Table, t.Role)
		}
	}
	return p.err
}

func (f *tablesFlags) tables(cmd *cobra.Command) (tables []newTable, err error) {
	if f.store != "" {
		table, ok := strings.CutPrefix(f.store, dynamoScheme)
		switch {
		case !ok:
			return nil, usagef(cmd, "--store: want dynamodb://TABLE") // whatever it is, it may hold a password
		case f.counters != "":
			return nil, usagef(cmd, "--store and --counters both name the table of counters: give one")
		}
		f.counters = table
	}
	f.rules = strings.TrimPrefix(f.rules, dynamoScheme)
	if f.counters != "" {
		tables = append(tables, newTable{dynamo.CountersTable(f.counters), "counters", probeCounters})
	}
	if f.rules != "" {
		tables = append(tables, newTable{ruletable.Description(f.rules), "rules", probeRules})
	}
	switch {
	case len(tables) == 0:
		return nil, usagef(cmd, "name at least one table: --counters TABLE, --rules TABLE")
	case f.counters == f.rules:
		return nil, usagef(cmd, "counters and rules cannot share table %s", f.rules)
	}
	for _, t := range tables {
		if err := checkTable(cmd, t.role, t.Name); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// survey asks of every table whether it is missing or will do. One of another kind is refused before anything has changed.
func survey(tables []newTable) func(context.Context, *dynamo.Client) error {
	return func(ctx context.Context, client *dynamo.Client) error {
		for _, t := range tables {
			err := t.probe(ctx, client, t.Name)
			switch {
			case err == nil, errors.Is(err, dynamo.ErrNoTable):
			case errors.Is(err, dynamo.ErrUnreachable), errors.Is(err, dynamo.ErrTimeout), errors.Is(err, dynamo.ErrNotPermitted):
				return err
			default:
				return fmt.Errorf("this seems to be no table of %s: %w", t.role, err)
			}
		}
		return nil
	}
}
