package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// OpenTable returns a rules table that answers.
func OpenTable(ctx context.Context, name string) (*ruletable.Table, error) {
	client, err := connect(ctx, func(ctx context.Context, client *dynamo.Client) error { return probeRules(ctx, client, name) })
	if err != nil {
		return nil, err
	}
	return ruletable.New(client, name), nil
}

// InForce returns the rules in force and the number of their version.
func InForce(ctx context.Context, table *ruletable.Table) (*rules.Set, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, ChangeTime)
	defer cancel()
	return table.InForce(ctx)
}

// ReadVersion returns the rules of a published version.
func ReadVersion(ctx context.Context, table *ruletable.Table, version int64) (*rules.Set, error) {
	ctx, cancel := context.WithTimeout(ctx, ChangeTime)
	defer cancel()
	set, err := table.Rules(ctx, version)
	if err != nil {
		return nil, err
	}
	return set, LoadHashSecret("", set)
}

// probeRules reads the number of the version in force. It fails unless the
// table is one of rules, and answers. The table may be empty, and its pointer
// damaged.
func probeRules(ctx context.Context, client *dynamo.Client, table string) error {
	_, err := ruletable.New(client, table).Current(ctx)
	if errors.Is(err, ruletable.ErrNone) || errors.Is(err, ruletable.ErrDamaged) {
		return nil
	}
	return err
}

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
// yet. It creates no table for an empty name.
func CreateTables(ctx context.Context, counters, rules string) ([]TableReport, error) {
	tables := []newTable{
		{dynamo.CountersTable(counters), "counters", probeCounters},
		{ruletable.Description(rules), "rules", probeRules},
	}
	tables = slices.DeleteFunc(tables, func(t newTable) bool { return t.Name == "" })
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
		case errors.Is(err, dynamo.ErrUnreachable), errors.Is(err, dynamo.ErrTimeout), errors.Is(err, dynamo.ErrNotPermitted),
			errors.Is(err, dynamo.ErrExpired), errors.Is(err, dynamo.ErrClock):
			return err
		default:
			return fmt.Errorf("this seems to be no table of %s: %w", t.role, err)
		}
	}
	return nil
}
