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

	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// NewEngine returns an engine whose rules with on_error: local count in this
// process: in o.Local, or else by the times of the decisions.
func NewEngine(o engine.Options) *engine.Engine {
	switch _, inMemory := o.Store.(*memory.Store); {
	case o.Local != nil:
	case inMemory: // which does not fail
		o.Local = memory.New(memory.FallbackKeys)
	default:
		counters := memory.NewFallback(memory.FallbackKeys)
		o.Local, o.Admitted = counters, counters.Note
	}
	return engine.New(o)
}

// SetDefaultLog makes log the program's default log, with repeated lines
// throttled: net/http writes lines about clients and backends to that one.
func SetDefaultLog(log *slog.Logger) { slog.SetDefault(oplog.Throttle(log)) }

// NewDynamoStore returns a store over a table of counters. wall is the client's
// corrected clock.
func NewDynamoStore(client *dynamo.Client, table string, wall func() time.Time) *dynamo.Store {
	return dynamo.New(client, table, dynamo.Options{Wall: wall, Confirmed: client.Clock.Confirmed})
}

// Prepare completes compiled rules for a limiter, or refuses them. name is the
// place of the rules, for messages.
type Prepare func(name string, set *rules.Set) error

// NewTable returns what limiters read of a table: the rules, and the overrides
// that operators set by command. Both log every read that fails; failed reads of
// overrides are throttled. NewTable fills in Report of the options.
func NewTable(
	client *dynamo.Client, table string, o ruletable.SourceOptions, log *slog.Logger,
) (*ruletable.Source, *ruletable.OverrideCache) {
	from := ruletable.New(client, table)
	throttled := oplog.Throttle(log, "error")
	o.Report = func(err error) { log.Error("rules", "error", err) }
	return ruletable.NewSource(from, o), ruletable.NewOverrideCache(from, ruletable.DefaultMaxOverrides,
		func(err error) { throttled.Error("overrides", "error", err) })
}

// NewAPIKeys returns what verifies the API keys of a table. It logs failed reads,
// throttled.
func NewAPIKeys(table *ruletable.Table, log *slog.Logger) *apikeys.Verifier {
	throttled := oplog.Throttle(log, "error")
	return apikeys.NewVerifier(table.APIKey, func(err error) { throttled.Error("API keys", "error", err) })
}

// LoadSecrets is the Prepare that reads the secrets of rules from the
// environment.
func LoadSecrets(name string, set *rules.Set) error {
	if err := set.LoadSecrets(os.LookupEnv); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// NewPrepare returns LoadSecrets for a limiter that verifies credentials as the
// rules say. It warns, once for each document, of rules that need others.
func NewPrepare(log *slog.Logger) Prepare {
	return func(name string, set *rules.Set) error {
		if err := LoadSecrets(name, set); err != nil {
			return err
		}
		if idle, lumped := lint.WithoutCredentials(set); len(idle) > 0 || len(lumped) > 0 {
			log.Warn("rules need credentials that are not verified",
				"rules", name, "never_matched", idle, "count_all_callers_as_one", lumped)
		}
		return nil
	}
}

// NewLibraryPrepare returns LoadSecrets for a limiter in a Go program, which
// verifies no credentials. It warns, once for each document, of authentication.
func NewLibraryPrepare(log *slog.Logger) Prepare {
	return func(name string, set *rules.Set) error {
		lint.WarnOfLibrary(log, name, set)
		return LoadSecrets(name, set)
	}
}
