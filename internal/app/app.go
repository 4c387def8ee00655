// Package app builds an engine from configuration, for the Lambda, the local
// gateway and the commands. Each main package chooses the store, so that no
// binary links a driver that it does not use.
package app

import (
	"fmt"
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // a Lambda has no zone database, and calendar windows need one

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/logthrottle"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// DefaultDeadline bounds the store's part of a decision. After it, on_error
// decides, long before API Gateway gives up.
const DefaultDeadline = 250 * time.Millisecond

// localKeys bounds the counters of on_error: local in this process.
const localKeys = 50_000

// Config is what a main package chooses.
type Config struct {
	Rules engine.RuleSource
	Store engine.Store
	// Overrides are the ones that operators set by command; nil for none.
	Overrides engine.OverrideSource
	Deadline  time.Duration // 0 for none, if the store is in this process
	Recorder  *Recorder     // nil for one that logs to Log and sees no answers
	Log       *slog.Logger
}

// NewEngine returns an engine that logs every failure of its store.
func NewEngine(c Config) *engine.Engine {
	if c.Recorder == nil {
		c.Recorder = NewRecorder(c.Log, false)
	}
	return engine.New(engine.Options{
		Rules:     c.Rules,
		Overrides: c.Overrides,
		Store:     c.Store,
		Local:     memory.New(localKeys),
		Recorder:  c.Recorder,
		Deadline:  c.Deadline,
	})
}

// NewDynamoStore returns a store over a table of counters. wall is the client's
// corrected clock.
func NewDynamoStore(client *dynamo.Client, table string, wall func() time.Time) *dynamo.Store {
	return dynamo.New(client, table, dynamo.Options{Wall: wall, Confirmed: client.Clock.Confirmed})
}

// Table is a table of rules, as limiters read it.
type Table struct {
	Rules     *ruletable.Source
	Overrides *ruletable.OverrideCache
}

// Prepare completes compiled rules for a limiter, or refuses them. name is the
// place of the rules, for messages.
type Prepare func(name string, set *rules.Set) error

// NewTable returns the readers of a table of rules. They log every read that
// fails; failed reads of overrides are throttled. fallback are the rules to
// start with if the table cannot be read at the start; nil for none.
func NewTable(client *dynamo.Client, table string, prepare Prepare, fallback *rules.Set, log *slog.Logger) *Table {
	from := ruletable.New(client, table)
	throttled := slog.New(logthrottle.New(log.Handler(), "error"))
	return &Table{
		Rules: ruletable.NewSource(from, ruletable.SourceOptions{
			Report: func(err error) { log.Error("rules", "error", err) }, Prepare: prepare, Fallback: fallback,
		}),
		Overrides: ruletable.NewOverrideCache(from, ruletable.DefaultMaxOverrides, func(err error) {
			throttled.Error("overrides", "error", err)
		}),
	}
}

// LoadSecrets is the Prepare that reads the secrets of rules from the
// environment.
func LoadSecrets(name string, set *rules.Set) error {
	if err := set.LoadSecrets(os.LookupEnv); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// NewPrepare returns LoadSecrets for a limiter that does not verify
// credentials. It warns, once for each document, of rules that need them.
func NewPrepare(log *slog.Logger) Prepare {
	return func(name string, set *rules.Set) error {
		if err := LoadSecrets(name, set); err != nil {
			return err
		}
		if idle, lumped := lint.WithoutCredentials(set); len(idle) > 0 || len(lumped) > 0 {
			log.Warn("credentials are not verified yet: all callers are anonymous",
				"rules", name, "never_matched", idle, "count_all_callers_as_one", lumped)
		}
		return nil
	}
}
