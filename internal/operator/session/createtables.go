package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// TableReport is what became of one table.
type TableReport struct {
	Table   string `json:"table"`
	Role    string `json:"role"`
	Created bool   `json:"created"` // false if it existed
}

// newTable is a table to create.
type newTable struct {
	dynamo.Table
	role  string
	probe func(context.Context, *dynamo.Client, string) error
}

// CreateTables creates the tables of counters and of rules that do not exist
// yet. An empty name asks for no table.
func CreateTables(ctx context.Context, counters, rules string) ([]TableReport, error) {
	var tables []newTable
	if counters != "" {
		tables = append(tables, newTable{dynamo.CountersTable(counters), "counters", probeCounters})
	}
	if rules != "" {
		tables = append(tables, newTable{ruletable.Description(rules), "rules", probeRules})
	}
	client, err := connect(ctx, func(ctx context.Context, client *dynamo.Client) error { return checkTables(ctx, client, tables) })
	if err != nil {
		return nil, err
	}
	reports := make([]TableReport, 0, len(tables))
	for _, t := range tables {
		created, err := client.Create(ctx, t.Table)
		if err != nil {
			return nil, err
		}
		reports = append(reports, TableReport{t.Name, t.role, created})
	}
	return reports, nil
}

// checkTables makes sure that every table is missing or of its kind, before
// anything changes.
func checkTables(ctx context.Context, client *dynamo.Client, tables []newTable) error {
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
