package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// startTime bounds what a command asks of DynamoDB or Redis before its work begins: a wrong address or a missing table shows
// within seconds, before anything has changed.
const startTime = 4 * time.Second

// ground is what a command stands on: rules that are valid, and counters that are there.
type ground struct {
	set       *rules.Set            // the rules at the start
	source    engine.RuleSource     // the rules as they change
	overrides engine.OverrideSource // besides those of the rules document; nil unless the rules are in DynamoDB
	client    *dynamo.Client        // nil where nothing is in DynamoDB
	table     string                // of counters; empty unless they are in DynamoDB
	redis     *redis.Connection     // to counters; nil unless they are in Redis
}

// close hangs up.
func (g *ground) close() {
	if g.redis != nil {
		_ = g.redis.Close()
	}
}

// open reads the rules and makes sure of the counters. It writes nothing. Who calls it closes the ground.
func open(ctx context.Context, where places, prepare app.Prepare, log *slog.Logger) (*ground, error) {
	g := &ground{table: where.counters}
	if where.file != "" {
		document, err := os.ReadFile(where.file)
		if err != nil {
			return nil, err
		}
		set, err := rulefile.Parse(where.file, document)
		if err != nil {
			return nil, err
		}
		if err := prepare(where.file, set); err != nil {
			return nil, err
		}
		g.set, g.source = set, engine.Fixed{Set: set}
	}
	var err error
	if where.redis != nil {
		if g.redis, err = connectRedis(ctx, where.redis); err != nil {
			return nil, err
		}
	}
	if where.rules == "" && where.counters == "" {
		return g, nil
	}
	g.client, err = connect(ctx, func(ctx context.Context, client *dynamo.Client) error {
		if where.rules != "" {
			table := app.NewTable(client, where.rules, withWarnings(prepare), nil, log)
			set, err := table.Rules.Rules(ctx, client.Clock.Now())
			if err != nil {
				return err
			}
			g.set, g.source, g.overrides = set, table.Rules, table.Overrides
		}
		if where.counters == "" {
			return nil
		}
		return probeCounters(ctx, client, where.counters)
	})
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// connectRedis returns a connection once Redis has answered a first question, all within startTime.
func connectRedis(ctx context.Context, address *redis.Address) (*redis.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	connection, err := redis.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := probe(ctx, redis.New(connection, redis.Options{})); err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("%v: %w", address, err)
	}
	return connection, nil
}

// connect returns a client once DynamoDB has answered the first questions, all within startTime.
func connect(ctx context.Context, ask func(context.Context, *dynamo.Client) error) (*dynamo.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return client, ask(ctx, client)
}

// checkAtomic refuses rules that are to be charged together where their counters are on different nodes: every request that
// several of them cover would fail. Rules in a table may become so later; then it is their store that says no.
func (g *ground) checkAtomic(where *places) error {
	if g.redis == nil || !g.redis.Clustered() {
		return nil
	}
	var atomic []string
	for _, r := range g.set.Rules {
		if r.Atomic {
			atomic = append(atomic, r.Name)
		}
	}
	if len(atomic) < 2 {
		return nil
	}
	return fmt.Errorf("rules %s say atomic: true, and %s is a Redis Cluster, which cannot charge several keys at once: "+
		"make them limits of one rule, remove atomic, or use a Redis without Cluster", strings.Join(atomic, ", "), where.storeName())
}

// withWarnings also adds warnings to rules, which come from a table without any.
func withWarnings(prepare app.Prepare) app.Prepare {
	return func(name string, set *rules.Set) error {
		for _, p := range lint.Check(set.Document(), set) {
			set.Warnings = append(set.Warnings, name+": "+p.String())
		}
		return prepare(name, set)
	}
}

// loadHashSecret prepares rules for commands that do not limit. It ignores errors:
// if the secret for hashed keys is missing, only reading a typed key fails.
func loadHashSecret(_ string, set *rules.Set) error {
	_ = set.LoadHashSecret(os.LookupEnv)
	return nil
}

// parseRules reads a rules document for a command that does not limit.
func parseRules(file string, document []byte) (*rules.Set, error) {
	set, err := rulefile.Parse(file, document)
	if err != nil {
		return nil, err
	}
	return set, loadHashSecret(file, set)
}

// readRules reads a rules file, and returns its text with it.
func readRules(file string) (*rules.Set, []byte, error) {
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	set, err := parseRules(file, document)
	return set, document, err
}

// counterStore is a store whose counters other processes share, and operators look into.
type counterStore interface {
	engine.Store
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
	Reset(ctx context.Context, key string) error
}

// shared returns the store that other processes share, and the clock that it is to be asked by. There is none in memory.
func (g *ground) shared() (store counterStore, now func() time.Time) {
	if g.redis != nil {
		return redis.New(g.redis, redis.Options{}), time.Now // its own clock decides
	}
	now = g.client.Clock.Now
	return app.NewDynamoStore(g.client, g.table, now), now
}

// probeCounters fails unless the table is one of counters, and answers.
func probeCounters(ctx context.Context, client *dynamo.Client, table string) error {
	return probe(ctx, dynamo.New(client, table, dynamo.Options{Wall: time.Now}))
}

// probe reads a counter that nobody has.
func probe(ctx context.Context, store counterStore) error {
	var v limit.Verdict
	anything := limit.Limit{Capacity: 1, Window: time.Second, Granularity: time.Second}
	return store.Peek(ctx, time.Now(), &limit.Charge{Key: "|probe|", Limits: []limit.Limit{anything}, Costs: []int64{1}}, &v)
}

// probeRules reads the pointer to the rules in force: it fails unless the table is one of rules, and answers. The table
// may be empty.
func probeRules(ctx context.Context, client *dynamo.Client, table string) error {
	if _, err := ruletable.New(client, table).Current(ctx); !errors.Is(err, ruletable.ErrNone) {
		return err
	}
	return nil
}
