package bench

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// BenchmarkRequest makes whole decisions about requests, with the store in
// memory, beside the bare operation of a limiter in memory.
func BenchmarkRequest(b *testing.B) {
	load{name: "in-memory", clients: 1}.run(b, []subject{
		{bare, counting}, {"one-rule", underRules(1)}, {"100-rules", underRules(100)}, {"1k-rules", underRules(1000)}, {"authorizer", handler},
	})
}

func engineFor(b *testing.B, text string) *engine.Engine {
	set, err := rulefile.Parse("rules.yaml", []byte(text))
	check(b, err)
	observer := telemetry.NewRecorder(telemetry.Options{Next: oplog.NewObserver(slog.New(slog.DiscardHandler))})
	return app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: observer})
}

// underRules decides a request that one of n rules covers: the last one, of
// rules by path, method, caller and plan.
func underRules(n int) func(*testing.B, int64) *opened {
	var plan, rules strings.Builder
	for i := range n {
		service := 777 + (i+1)%n
		fmt.Fprintf(&plan, "    service-%d: 4000000000\n", service)
		fmt.Fprintf(&rules, "  - {name: service-%d, when: {methods: [GET], path: /v1/service-%[1]d/**, caller: known}, "+
			"key: 'user:{jwt.sub}', limits: [{capacity: 1000000000, window: 60s}]}\n", service)
	}
	return func(b *testing.B, _ int64) *opened {
		e := engineFor(b, "plan: {from: jwt.plan}\nplans:\n  pro:\n"+plan.String()+"rules:\n"+rules.String())
		visit := request.Request{
			Method: "GET", Path: "/v1/service-777/items/42", IP: netip.MustParseAddr("203.0.113.9"),
			Claims: map[string]any{"sub": "7", "plan": "pro"},
		}
		return &opened{decide: func(ctx context.Context, _ string) (bool, error) {
			req := visit
			d, err := e.Decide(ctx, time.Now(), &req)
			if err == nil && len(d.Verdicts) != 1 {
				err = fmt.Errorf("%d rules cover the request, want 1", len(d.Verdicts))
			}
			return err == nil && d.Allowed, err
		}}
	}
}

// handler answers the event of a REST API under two rules.
func handler(b *testing.B, _ int64) *opened {
	a := apigw.NewAuthorizer(engineFor(b, `rules:
  - {name: per-ip, key: "ip:{ip}", limits: [{capacity: 4000000000, window: 60s}]}
  - {name: per-user, when: {route: /v1/**}, key: "user:{header.x-user}", limits: [{capacity: 4000000000, window: 60s}]}
`), time.Now)
	event, err := os.ReadFile("../../internal/lambda/apigw/testdata/get.event.json")
	check(b, err)
	return &opened{decide: func(ctx context.Context, _ string) (bool, error) {
		_, err := a.Handle(ctx, event)
		return err == nil, err
	}}
}

// BenchmarkReplay replays a log in the combined format: an hour of a web site in
// which 5,000 addresses send requests.
func BenchmarkReplay(b *testing.B) {
	const lines = 200_000
	var log bytes.Buffer
	start := time.Date(2026, time.January, 2, 3, 0, 0, 0, time.UTC)
	for i := range lines {
		client, at := i*7919%5000, start.Add(time.Duration(i)*time.Hour/lines)
		fmt.Fprintf(&log, "10.0.%d.%d - - [%s] \"GET /v1/items/%d?page=2 HTTP/1.1\" 200 5124 \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n",
			client>>8, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), i%1000)
	}
	dir := b.TempDir()
	check(b, os.WriteFile(filepath.Join(dir, "access.log"), log.Bytes(), 0o600))
	check(b, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 10, window: 60s}]}]\n"), 0o600))
	binary := build(b, "../..", "./cmd/slidegate")
	b.Run("load=combined-log/limiter="+ours, func(b *testing.B) {
		for b.Loop() {
			command := exec.CommandContext(b.Context(), binary, "replay", "access.log", "--rules", "rules.yaml")
			command.Dir = dir
			if output, err := command.CombinedOutput(); err != nil {
				b.Fatalf("replay: %v\n%s", err, output)
			}
		}
		b.ReportMetric(float64(b.N)*lines/b.Elapsed().Seconds(), "lines/s")
		b.ReportMetric(0, "ns/op") // reports no time
	})
}

// build builds a command of a module, and returns its path. It links only what
// has changed.
func build(b *testing.B, module, path string) string {
	b.Helper()
	dir, err := filepath.Abs("../../.cache/bench")
	check(b, err)
	binary := filepath.Join(dir, filepath.Base(path))
	command := exec.Command("go", "build", "-o", binary, "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", path)
	command.Dir, command.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", path, err, out)
	}
	return binary
}

// BenchmarkLambda has new processes of functions answer events: the hello-world
// function in testdata, and the authorizer, which makes the same call to the same
// DynamoDB. It reports the CPU time, and the most memory that was resident.
func BenchmarkLambda(b *testing.B) {
	event, err := os.ReadFile("../../internal/lambda/apigw/testdata/http-2.0.event.json")
	check(b, err)
	hello, authorizer := build(b, ".", "./testdata/hello"), build(b, "../..", "./functions/authorizer")
	for _, load := range []struct {
		name   string
		events int
	}{{"cold-start", 1}, {"1k-events", 1000}} {
		for _, f := range []struct {
			name, binary string
			rules        int
		}{{bare, hello, 1}, {"authorizer", authorizer, 1}, {"1k-rules", authorizer, 1000}, {"5k-rules", authorizer, 5000}} {
			if load.events > 1 && f.rules > 1 {
				continue
			}
			b.Run("load="+load.name+"/limiter="+f.name, func(b *testing.B) {
				env := tables(b, f.rules)
				var cpu time.Duration
				var memory int64 // in KB
				for b.Loop() {
					command := exec.Command(f.binary)
					command.Env, command.Stderr = append([]string{}, env...), os.Stderr
					process, err := servers.StartLambda(command)
					check(b, err)
					for i := range load.events { // of a hundred clients in turn
						answer, err := process.Invoke(b.Context(), bytes.ReplaceAll(event, []byte("203.0.113.9"), fmt.Appendf(nil, "203.0.113.%d", i%100)))
						if err != nil || !bytes.Contains(answer, []byte(`"isAuthorized":true`)) {
							b.Fatalf("%s answers %s, %v", f.name, answer, err)
						}
					}
					b.StopTimer()
					status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
					check(b, err)
					_, most, _ := strings.Cut(string(status), "VmHWM:")
					_, err = fmt.Sscan(most, &memory)
					check(b, err)
					process.Stop()
					cpu += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
					b.StartTimer()
				}
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(memory)/1024, "MB")
			})
		}
	}
}

// tables creates tables for a function, and returns its environment. It publishes
// n rules: one that admits every event by one write, and others by path.
func tables(b *testing.B, n int) []string {
	client := dynamotest.Connect(b)
	counters := dynamotest.Create(b, client, dynamo.CountersTable(dynamotest.Name()))
	rules := dynamotest.Create(b, client, ruletable.Description(dynamotest.Name()))
	var text strings.Builder
	text.WriteString("rules:\n  - {name: per-ip, key: 'ip:{ip}', limits: [{capacity: 1000000, window: 60s}]}\n")
	for i := range n - 1 {
		fmt.Fprintf(&text, "  - {name: r%d, when: {path: /v1/service-%[1]d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(text.String()))
	check(b, err)
	_, err = ruletable.New(client, rules).Publish(b.Context(), ruletable.Version{Text: []byte(text.String()), Document: set.Document()}, 0)
	check(b, err)
	env := []string{"SLIDEGATE_COUNTERS=" + counters, "SLIDEGATE_RULES=" + rules, "SLIDEGATE_DEADLINE=5s", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}
