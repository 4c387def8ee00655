package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// Names of subjects that targets refer to.
const (
	hundredRules = "one of 100 rules"
	handler      = "the authorizer's handler"
)

// requests are whole decisions about requests, with the store in memory, after
// the bare operation of a limiter in memory.
func requests() []subject {
	return []subject{
		{bare, openMap},
		{"one rule", underRules(1)},
		{hundredRules, underRules(100)},
		{"one of 1,000 rules", underRules(1000)},
		{handler, openHandler},
	}
}

func engineFor(text string) (*engine.Engine, error) {
	set, err := rulefile.Parse("rules.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	observer := telemetry.NewRecorder(telemetry.Options{Next: oplog.NewObserver(slog.New(slog.DiscardHandler))})
	return app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: observer}), nil
}

// underRules decides a request that one of n rules covers: the last one, of
// rules by path, method, caller and plan.
func underRules(n int) func(context.Context, quota) (*limiter, error) {
	var plan, rules strings.Builder
	for i := range n {
		service := 777 + (i+1)%n
		fmt.Fprintf(&plan, "    service-%d: 4000000000\n", service)
		fmt.Fprintf(&rules, "  - {name: service-%d, when: {methods: [GET], path: /v1/service-%[1]d/**, caller: known}, "+
			"key: 'user:{jwt.sub}', limits: [{capacity: 1000000000, window: 60s}]}\n", service)
	}
	return func(context.Context, quota) (*limiter, error) {
		e, err := engineFor("plan: {from: jwt.plan}\nplans:\n  pro:\n" + plan.String() + "rules:\n" + rules.String())
		visit := &request.Request{
			Method: "GET", Path: "/v1/service-777/items/42", IP: netip.MustParseAddr("203.0.113.9"),
			Claims: map[string]any{"sub": "7", "plan": "pro"},
		}
		return &limiter{decide: func(ctx context.Context, _ string) (bool, error) {
			req := *visit
			d, err := e.Decide(ctx, time.Now(), &req)
			if err == nil && len(d.Verdicts) != 1 {
				err = fmt.Errorf("%d rules cover the request, want 1", len(d.Verdicts))
			}
			return err == nil && d.Allowed, err
		}}, err
	}
}

//go:embed get.event.json
var event []byte

// openHandler answers the event of a REST API under two rules.
func openHandler(context.Context, quota) (*limiter, error) {
	e, err := engineFor(`rules:
  - {name: per-ip, key: "ip:{ip}", limits: [{capacity: 4000000000, window: 60s}]}
  - {name: per-user, when: {route: /v1/**}, key: "user:{header.x-user}", limits: [{capacity: 4000000000, window: 60s}]}
`)
	if err != nil {
		return nil, err
	}
	a := apigw.NewAuthorizer(e, time.Now)
	var ev apigw.RequestEvent
	return &limiter{decide: func(ctx context.Context, _ string) (bool, error) {
		_, _, err := a.Decide(ctx, ev)
		return err == nil, err
	}}, json.Unmarshal(event, &ev)
}

// replayLines is how many lines of a log one operation of openReplay reads.
const replayLines = 200_000

// openReplay replays a log in the combined format under a rule, as the command
// does: an hour of a web site in which 5,000 addresses send requests.
func openReplay(ctx context.Context, _ quota) (*limiter, error) {
	var log bytes.Buffer
	start := time.Date(2026, time.January, 2, 3, 0, 0, 0, time.UTC)
	for i := range replayLines {
		client, at := i*7919%5000, start.Add(time.Duration(i)*time.Hour/replayLines)
		fmt.Fprintf(&log, "10.0.%d.%d - - [%s] \"GET /v1/items/%d?page=2 HTTP/1.1\" 200 5124 \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n",
			client>>8, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), i%1000)
	}
	dir, err := os.MkdirTemp("", "bench-replay")
	if err != nil {
		return nil, err
	}
	lines, rules := filepath.Join(dir, "access.log"), filepath.Join(dir, "rules.yaml")
	if err = os.WriteFile(lines, log.Bytes(), 0o600); err == nil {
		err = os.WriteFile(rules, []byte("rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 10, window: 60s}]}]\n"), 0o600)
	}
	command := filepath.Join(dir, "slidegate")
	if err == nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", command, "./cmd/slidegate")
		build.Dir = "../.."
		if output, failed := build.CombinedOutput(); failed != nil {
			err = fmt.Errorf("go build: %w\n%s", failed, output)
		}
	}
	return &limiter{close: func() { _ = os.RemoveAll(dir) }, decide: func(ctx context.Context, _ string) (bool, error) {
		if output, err := exec.CommandContext(ctx, command, "replay", lines, "--rules", rules).CombinedOutput(); err != nil {
			return false, fmt.Errorf("replay: %w\n%s", err, output)
		}
		return true, nil
	}}, err
}
