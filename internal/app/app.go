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
	"github.com/slidegate/slidegate/internal/rulefile"
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

// Parser reads a rules document: rulefile.Parse, or the result of NewParser for a
// limiter.
type Parser func(file string, document []byte) (*rules.Set, error)

// NewTable returns the readers of a table of rules. They log every read that
// fails; failed reads of overrides are throttled. fallback are the rules to
// start with if the table cannot be read at the start; nil for none.
func NewTable(client *dynamo.Client, table string, parse Parser, fallback *rules.Set, log *slog.Logger) *Table {
	from := ruletable.New(client, table)
	throttled := slog.New(logthrottle.New(log.Handler(), "error"))
	return &Table{
		Rules: ruletable.NewSource(from, ruletable.SourceOptions{
			Report: func(err error) { log.Error("rules", "error", err) }, Parse: parse, Fallback: fallback,
		}),
		Overrides: ruletable.NewOverrideCache(from, ruletable.OverrideCacheOptions{
			Report: func(err error) { throttled.Error("overrides", "error", err) },
		}),
	}
}

// ParseRules reads a rules document for a limiter. The secrets that it names
// come from the environment.
func ParseRules(file string, document []byte) (*rules.Set, error) {
	set, err := rulefile.Parse(file, document)
	if err != nil {
		return nil, err
	}
	if err := set.LoadSecrets(os.LookupEnv); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return set, nil
}

// NewParser returns ParseRules for a limiter that does not verify credentials.
// It warns, once for each document, of rules that need them.
func NewParser(log *slog.Logger) Parser {
	return func(file string, document []byte) (*rules.Set, error) {
		set, err := ParseRules(file, document)
		if err != nil {
			return nil, err
		}
		if idle, lumped := lint.WithoutCredentials(set); len(idle) > 0 || len(lumped) > 0 {
			log.Warn("credentials are not verified yet: all callers are anonymous",
				"rules", file, "never_matched", idle, "count_all_callers_as_one", lumped)
		}
		return set, nil
	}
}
