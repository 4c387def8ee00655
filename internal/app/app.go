// Package app puts the parts together: the one way, shared by the Lambda, the local gateway and the commands, from
// configuration to an engine. Mains choose the store, so that a binary carries no driver that it does not use.
package app

import (
	"context"
	"log/slog"
	"time"
	_ "time/tzdata" // calendar windows know their timezones in a Lambda too, which has no zone database

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// DefaultDeadline bounds the store's part of a decision: beyond it on_error decides, well before API Gateway gives up.
const DefaultDeadline = 250 * time.Millisecond

// localKeys bounds the counters that on_error: local keeps in this process.
const localKeys = 50_000

// Config is what a main hands over.
type Config struct {
	Rules    engine.RuleSource
	Store    engine.Store
	Deadline time.Duration // 0 for none: the store is in this process
	Log      *slog.Logger
}

// NewEngine returns an engine that logs every failure of its store.
func NewEngine(c Config) *engine.Engine {
	return engine.New(engine.Options{
		Rules:    c.Rules,
		Store:    c.Store,
		Local:    memory.New(localKeys),
		Recorder: recorder{c.Log},
		Deadline: c.Deadline,
	})
}

// NewDynamoStore returns a store over a table of counters that decides by the client's corrected clock.
func NewDynamoStore(client *dynamo.Client, table string, wall func() time.Time) *dynamo.Store {
	return dynamo.New(client, table, dynamo.Options{Wall: wall, Confirmed: client.Clock.Confirmed})
}

// NewTableSource returns a source of the rules in a table that logs every look that fails.
func NewTableSource(client *dynamo.Client, table string, log *slog.Logger) *ruletable.Source {
	return ruletable.NewSource(ruletable.New(client, table), func(err error) { log.Error("rules", "error", err) })
}

type recorder struct{ log *slog.Logger }

// StoreFailed logs a failure that a decision survived.
func (r recorder) StoreFailed(ctx context.Context, action, rule, key string, err error) {
	r.log.ErrorContext(ctx, "store failed", "action", action, "rule", rule, "key", key, "error", err)
}
