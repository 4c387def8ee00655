package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// Table is a rules table that has answered.
type Table struct {
	*ruletable.Table
	Name string
}

// OpenTable returns a rules table once it has answered.
func OpenTable(ctx context.Context, name string) (*Table, error) {
	client, err := connect(ctx, func(ctx context.Context, client *dynamo.Client) error { return probeRules(ctx, client, name) })
	if err != nil {
		return nil, err
	}
	return &Table{ruletable.New(client, name), name}, nil
}

// GlanceAtTable returns a rules table that may not exist or answer, for
// completion at a prompt.
func GlanceAtTable(ctx context.Context, name string) (*Table, error) {
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return &Table{ruletable.New(client, name), name}, nil
}

// OpenRules returns a rules table and the rules in force.
func OpenRules(ctx context.Context, name string) (*Table, *rules.Set, error) {
	table, err := OpenTable(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, LookTime)
	defer cancel()
	set, _, err := table.InForce(ctx)
	return table, set, err
}

// InForce returns the rules in force and the number of their version.
func (t *Table) InForce(ctx context.Context) (*rules.Set, int64, error) {
	version, err := t.Current(ctx)
	if err != nil {
		return nil, 0, err
	}
	set, err := t.ReadVersion(ctx, version)
	return set, version, err
}

// ReadVersion returns the rules of a published version.
func (t *Table) ReadVersion(ctx context.Context, version int64) (*rules.Set, error) {
	set, err := t.Rules(ctx, version)
	if err != nil {
		return nil, err
	}
	return set, LoadHashSecret("", set)
}

// VersionName is how errors name a version.
func (t *Table) VersionName(version int64) string {
	return fmt.Sprintf("%s%s version %d", DynamoScheme, t.Name, version)
}

// probeRules reads the number of the version in force. It fails unless the
// table is one of rules, and answers. The table may be empty.
func probeRules(ctx context.Context, client *dynamo.Client, table string) error {
	if _, err := ruletable.New(client, table).Current(ctx); !errors.Is(err, ruletable.ErrNone) {
		return err
	}
	return nil
}
