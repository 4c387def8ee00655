// Command authorizer is the Lambda authorizer of REST, HTTP, WebSocket and
// AppSync APIs. It reads its rules from one DynamoDB table and counts in another.
//
// Its settings are environment variables, which infra/ratelimit sets:
//
//	SLIDEGATE_COUNTERS          the table of counters; required
//	SLIDEGATE_RULES             the table of rules; required
//	SLIDEGATE_DEADLINE          of a decision; 250ms by default
//	SLIDEGATE_SIMPLE_RESPONSES  false for HTTP APIs that take IAM policies; true by default
//	SLIDEGATE_PASS_DENIALS      true if backends of HTTP APIs answer denials; false by default
//	SLIDEGATE_RECEIPT_SECRET    signs receipts for backends that get them as a header
//	SLIDEGATE_LIMITER           its name in CloudWatch; the function's by default
//	SLIDEGATE_METRICS           off for no metrics; on by default
//
// Rules may name further variables that hold secrets, by hash_secret and
// client_ip. The role needs dynamodb:GetItem and dynamodb:UpdateItem on the
// counters, and dynamodb:GetItem on the rules.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
)

func main() {
	collectLess(os.Getenv)
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	h, err := build(context.Background(), log)
	if err != nil {
		log.Error("authorizer cannot start", "error", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(func() {
		h.observer.Flush(context.Background()) // what only the next requests would have written
		h.metrics.Flush(h.now())
		os.Exit(0) // Lambda waits for half a second at most
	}))
}

// handler takes events as they come. For a function, lambda.Start would scan and
// copy each event before Handle reads it.
type handler struct {
	*apigw.Authorizer
	metrics  *telemetry.LambdaLog // nil for none
	observer *oplog.Observer
	now      func() time.Time
}

// Invoke answers an event.
func (h handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	h.metrics.Begin(h.now())
	answer, err := h.Handle(ctx, event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// build returns the authorizer that the environment describes.
func build(ctx context.Context, log *slog.Logger) (h handler, err error) {
	s, err := readSettings()
	if err != nil {
		return h, err
	}
	client, err := dynamo.ConnectLambda(os.Getenv, time.Now)
	if err != nil {
		return h, err
	}
	guard := breaker.New(time.Now, breaker.LogChanges(log, "dynamodb://"+s.counters))
	rulesGuard := breaker.New(time.Now, breaker.LogChanges(log, "dynamodb://"+s.rules))
	lookups := client.Guarded(rulesGuard, dynamo.MaxLookups)
	client.Clock.OnStep(oplog.LogClockSteps(log))
	source, overrides := app.NewTable(lookups, s.rules, ruletable.SourceOptions{
		Prepare: app.NewPrepare(log), Fallback: rulesCopy(os.Getenv("LAMBDA_TASK_ROOT"), log), AllowUnpublished: true,
	}, log)
	local := memory.NewFallback(memory.FallbackKeys)
	h = handler{observer: oplog.NewObserver(log), now: client.Clock.Now}
	recorder := telemetry.NewRecorder(telemetry.Options{
		Next: h.observer, RulesConfirmed: source.Confirmed, BreakerOpen: guard.Open, RulesBreakerOpen: rulesGuard.Open, LocalKeys: local.Len,
	})
	client.OnSent(recorder.Sent)
	if s.limiter != "" {
		h.metrics = telemetry.NewLambdaLog(os.Stdout, s.limiter, recorder)
	}
	go warm()
	// Read the rules, and the keys of issuers, while the Lambda starts. The first
	// answer also sets the clock. If that fails, the first request reads them
	// again.
	callers := authn.New(source, app.NewAPIKeys(ruletable.New(lookups, s.rules), log), nil, oplog.Throttle(log, "issuer", "reason"))
	if _, err := source.Rules(ctx, client.Clock.Now()); err != nil {
		log.Error("rules", "error", err)
	} else {
		callers.Warm(ctx, client.Clock.Now())
	}
	h.Authorizer = apigw.NewAuthorizer(app.NewEngine(engine.Options{
		Rules:     source,
		Overrides: overrides,
		Store:     app.NewDynamoStore(client.Guarded(guard, 0), s.counters, client.Clock.Now),
		Local:     local,
		Admitted:  local.Note,
		Observer:  recorder,
		Deadline:  s.deadline,
	}), client.Clock.Now)
	h.Policies, h.PassDenials = !s.simple, s.passDenials
	h.Receipts, h.Log = receipt.NewIssuer(s.keys, log), oplog.Throttle(log, "claim")
	h.Callers, h.Rejected = callers, recorder.Rejected
	return h, nil
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
