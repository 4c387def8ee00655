// Package inlambda puts the limiter of a Lambda function together from the
// function's environment: for the authorizer, and for the functions that other
// programs call.
package inlambda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Function is what a function needs to settle: the counters, and an observer of
// calls to them.
type Function struct {
	Settings
	Store    *dynamo.Store
	Recorder *telemetry.Recorder
	Now      func() time.Time     // the corrected time
	Metrics  *telemetry.LambdaLog // nil for none

	client   *dynamo.Client
	observer *oplog.Observer
}

// Limiter is a function that decides.
type Limiter struct {
	*Function
	Engine    *engine.Engine
	Callers   *authn.Authenticator
	Source    *ruletable.Source
	Overrides *ruletable.OverrideCache
}

// NewFunction returns what settles by the counters of the settings.
func NewFunction(s Settings, log *slog.Logger) (*Function, error) {
	if s.Counters == "" {
		return nil, errors.New("SLIDEGATE_COUNTERS must name the table of counters")
	}
	f, o, err := connect(s, log)
	if err == nil {
		f.record(o)
	}
	return f, err
}

// connect returns a function without its recorder, and the options for that.
func connect(s Settings, log *slog.Logger) (f *Function, o telemetry.Options, err error) {
	client, err := dynamo.ConnectLambda(os.Getenv, time.Now)
	if err != nil {
		return nil, o, err
	}
	client.Clock.OnStep(oplog.LogClockSteps(log))
	guard := breaker.New(time.Now, breaker.LogChanges(log, "dynamodb://"+s.Counters))
	f = &Function{
		Settings: s, Store: app.NewDynamoStore(client.Guarded(guard, 0), s.Counters, client.Clock.Now), Now: client.Clock.Now,
		client: client, observer: oplog.NewObserver(log),
	}
	return f, telemetry.Options{Next: f.observer, BreakerOpen: guard.Open}, nil
}

func (f *Function) record(o telemetry.Options) {
	f.Recorder = telemetry.NewRecorder(o)
	f.client.OnSent(f.Recorder.Sent)
	if f.Limiter != "" {
		f.Metrics = telemetry.NewLambdaLog(os.Stdout, f.Limiter, f.Recorder)
	}
}

// End writes what only the next requests would have written. Lambda waits half a
// second for it at most.
func (f *Function) End() {
	f.observer.Flush(context.Background())
	f.Metrics.Flush(f.Now())
}

// NewLimiter returns what decides by the tables of the settings. It reads the
// rules, and the keys of issuers, while the Lambda starts. The first answer also
// sets the clock. If that fails, the first request reads them again.
func NewLimiter(ctx context.Context, s Settings, log *slog.Logger) (*Limiter, error) {
	if s.Counters == "" || s.Rules == "" {
		return nil, errors.New("SLIDEGATE_COUNTERS and SLIDEGATE_RULES must name the tables")
	}
	f, o, err := connect(s, log)
	if err != nil {
		return nil, err
	}
	rulesGuard := breaker.New(time.Now, breaker.LogChanges(log, "dynamodb://"+s.Rules))
	lookups := f.client.Guarded(rulesGuard, dynamo.MaxLookups)
	l := &Limiter{Function: f}
	l.Source, l.Overrides = app.NewTable(lookups, s.Rules, ruletable.SourceOptions{
		Prepare: app.NewPrepare(log), Fallback: rulesCopy(os.Getenv("LAMBDA_TASK_ROOT"), log), AllowUnpublished: true,
	}, log)
	local := memory.NewFallback(memory.FallbackKeys)
	o.RulesConfirmed, o.RulesBreakerOpen, o.LocalKeys = l.Source.Confirmed, rulesGuard.Open, local.Len
	f.record(o)
	go warm()
	l.Callers = authn.New(l.Source, app.NewAPIKeys(ruletable.New(lookups, s.Rules), log), nil, oplog.Throttle(log, "issuer", "reason"))
	if _, err := l.Source.Rules(ctx, f.Now()); err != nil {
		log.Error("rules", "error", err)
	} else {
		l.Callers.Warm(ctx, f.Now())
	}
	l.Engine = app.NewEngine(engine.Options{
		Rules:     l.Source,
		Overrides: l.Overrides,
		Store:     f.Store,
		Local:     local,
		Admitted:  local.Note,
		Observer:  f.Recorder,
		Deadline:  s.Deadline,
	})
	return l, nil
}

// warm compiles a document of one rule. Package encoding/json and the checks of
// documents learn Go types when they first meet them, which takes as long as the
// table takes to answer. So warm runs beside the first read.
func warm() {
	d, err := ruledoc.Unmarshal([]byte(`{"rules": [{"name": "r", "key": "ip:{ip}", "limits": [{"capacity": 1, "window": "60s"}]}]}`))
	if err == nil {
		_, _ = rules.Compile(d)
	}
}

// rulesCopy reads the copy of the rules beside the executable, which lambdazip
// writes. The Lambda starts with it if the table cannot be read. rulesCopy
// returns nil if there is none, and logs an invalid one.
func rulesCopy(dir string, log *slog.Logger) *rules.Set {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, "rules.json")
	set, err := readRules(path)
	if err == nil {
		err = app.LoadSecrets(path, set)
	}
	switch {
	case err == nil:
		return set
	case !errors.Is(err, fs.ErrNotExist):
		log.Error("the copy of the rules in the zip cannot be used", "error", err)
	}
	return nil
}

func readRules(path string) (*rules.Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	document, err := ruledoc.Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ruletable.Compile(path, document)
}
