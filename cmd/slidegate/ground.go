package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// startTime bounds what a command asks of DynamoDB before its work begins: a wrong address or a missing table shows
// within seconds, before anything has changed.
const startTime = 4 * time.Second

// ground is what a command stands on: rules that are valid, and counters that are there.
type ground struct {
	set    *rules.Set        // the rules at the start
	source engine.RuleSource // the rules as they change
	client *dynamo.Client    // nil where nothing is in DynamoDB
	table  string            // of counters; empty for memory
}

// open reads the rules and makes sure of the counters. It writes nothing.
func open(ctx context.Context, where places, log *slog.Logger) (*ground, error) {
	g := &ground{table: where.counters}
	if where.file != "" {
		set, _, err := readRules(where.file)
		if err != nil {
			return nil, err
		}
		g.set, g.source = set, engine.Fixed{Set: set}
	}
	if where.rules == "" && where.counters == "" {
		return g, nil
	}
	var err error
	g.client, err = connect(ctx, func(ctx context.Context, client *dynamo.Client) error {
		if where.rules != "" {
			source := app.NewTableSource(client, where.rules, log)
			set, err := source.Rules(ctx, client.Clock.Now())
			if err != nil {
				return err
			}
			g.set, g.source = set, source
		}
		if where.counters == "" {
			return nil
		}
		return probeCounters(ctx, client, where.counters)
	})
	return g, err
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

// readRules reads a rules file, and returns its text with it.
func readRules(file string) (*rules.Set, []byte, error) {
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	set, err := rules.Parse(file, document)
	return set, document, err
}

// probeCounters reads a counter that nobody has: it fails unless the table is one of counters, and answers.
func probeCounters(ctx context.Context, client *dynamo.Client, table string) error {
	var v limit.Verdict
	anything := limit.Limit{Capacity: 1, Window: time.Second, Granularity: time.Second}
	return dynamo.New(client, table, dynamo.Options{Wall: time.Now}).Peek(ctx, time.Now(),
		&limit.Charge{Key: "|probe|", Limits: []limit.Limit{anything}, Costs: []int64{1}}, &v)
}

// probeRules reads the pointer to the rules in force: it fails unless the table is one of rules, and answers. The table
// may be empty.
func probeRules(ctx context.Context, client *dynamo.Client, table string) error {
	if _, err := ruletable.New(client, table).Current(ctx); !errors.Is(err, ruletable.ErrNone) {
		return err
	}
	return nil
}
