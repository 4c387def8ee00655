package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/slidegate/slidegate"
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
	"github.com/slidegate/slidegate/store/dynamostore"
	"github.com/slidegate/slidegate/store/redisstore"
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
// function in testdata, the authorizer, which makes the same call to the same
// DynamoDB, and operations, which programs invoke for decisions. It reports the CPU time, and the most memory that was resident.
func BenchmarkLambda(b *testing.B) {
	event, err := os.ReadFile("../../internal/lambda/apigw/testdata/http-2.0.event.json")
	check(b, err)
	hello, authorizer, operations := build(b, ".", "./testdata/hello"), build(b, "../..", "./functions/authorizer"), build(b, "../..", "./functions/operations")
	invoked := []byte(`{"decisions": {"method": "GET", "path": "/v1/items", "ip": "203.0.113.9"}}`)
	for _, load := range []struct {
		name   string
		events int
	}{{"cold-start", 1}, {"1k-events", 1000}} {
		for _, f := range []struct {
			name, binary string
			rules        int
		}{{bare, hello, 1}, {"authorizer", authorizer, 1}, {"decide", operations, 1}, {"1k-rules", authorizer, 1000}, {"5k-rules", authorizer, 5000}} {
			if load.events > 1 && f.rules > 1 {
				continue
			}
			b.Run("load="+load.name+"/limiter="+f.name, func(b *testing.B) {
				env := tables(b, f.rules)
				var cpu time.Duration
				var memory int64 // in KB
				for b.Loop() {
					command := exec.Command(f.binary)
					command.Env, command.Stderr = append([]string{"_HANDLER=decide", "SLIDEGATE_RECEIPT_SECRET=0123456789abcdef"}, env...), os.Stderr
					event, allows := event, `"isAuthorized":true`
					if f.binary == operations {
						event, allows = invoked, `"allowed":true`
					}
					process, err := servers.StartLambda(command)
					check(b, err)
					for i := range load.events { // of a hundred clients in turn
						answer, err := process.Invoke(b.Context(), bytes.ReplaceAll(event, []byte("203.0.113.9"), fmt.Appendf(nil, "203.0.113.%d", i%100)))
						if err != nil || !bytes.Contains(answer, []byte(allows)) {
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

// onRedis returns a function that gives a limiter connections of its own, whose calls
// are counted.
func onRedis(b *testing.B) func(name string, open func(*testing.B, *redis.Client, int64) *opened) subject {
	address := servers.StartRedis(b).Address
	return func(name string, open func(b *testing.B, client *redis.Client, quota int64) *opened) subject {
		return subject{name, func(b *testing.B, quota int64) *opened {
			client, calls := redis.NewClient(&redis.Options{Addr: address, DisableIdentity: true, ContextTimeoutEnabled: true}), &tally{}
			b.Cleanup(func() { _ = client.Close() })
			client.AddHook(calls)
			o := open(b, client, quota)
			o.calls = &calls.Int64
			return o
		}}
	}
}

func BenchmarkRedis(b *testing.B) {
	on := onRedis(b)
	library := func(by func(int64, time.Duration) slidegate.Limit) subject {
		return on(ours, func(b *testing.B, client *redis.Client, quota int64) *opened {
			return onStore(b, quota, by, redisstore.New(client), redisstore.New(client, redisstore.WithCallerClock()))
		})
	}
	least, rate, throttled := on(bare, redisScript), on("redis_rate", redisRate), on("throttled", func(b *testing.B, client *redis.Client, quota int64) *opened {
		store, err := goredisstore.NewCtx(client, "throttled:")
		check(b, err)
		return byThrottled(b, store, quota)
	})
	ulule := on("ulule", func(b *testing.B, client *redis.Client, quota int64) *opened {
		store, err := ululeredis.NewStore(client)
		check(b, err)
		return byUlule(store, quota)
	})
	onServer(b,
		[]subject{least, library(slidegate.SlidingWindow), throttled, ulule, rate},
		[]subject{least, library(tokenBucket), throttled, rate})
}

// tally counts round trips.
type tally struct{ atomic.Int64 }

// DialHook counts nothing.
func (t *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a command.
func (t *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts commands that are sent together as one.
func (t *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.Add(1)
		return next(ctx, cmds)
	}
}

// incr is the smallest script that could limit.
var incr = redis.NewScript(`return redis.call("incr", KEYS[1])`)

// redisScript is the bare operation: a call of that script by its hash.
func redisScript(_ *testing.B, client *redis.Client, _ int64) *opened {
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		err := incr.Run(ctx, client, []string{key}).Err()
		return err == nil, err
	}}
}

func redisRate(_ *testing.B, client *redis.Client, quota int64) *opened {
	lim, most := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: int(quota), Burst: int(quota), Period: window}
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		r, err := lim.Allow(ctx, key, most)
		return err == nil && r.Allowed > 0, err
	}}
}

// onDynamoDB returns a function that gives a limiter connections of its own, as many
// as the documentation of dynamostore advises, whose calls are counted.
func onDynamoDB(b *testing.B) func(name string, open func(*testing.B, *items, int64) *opened) subject {
	table := dynamotest.Counters(b, dynamotest.Connect(b))
	cfg, err := config.LoadDefaultConfig(b.Context())
	check(b, err)
	return func(name string, open func(b *testing.B, items *items, quota int64) *opened) subject {
		return subject{name, func(b *testing.B, quota int64) *opened {
			calls := &counter{next: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 64, 128
			})}
			o := open(b, &items{dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.HTTPClient = calls }), table}, quota)
			o.calls = &calls.Int64
			return o
		}}
	}
}

func BenchmarkDynamoDB(b *testing.B) {
	on := onDynamoDB(b)
	library := func(by func(int64, time.Duration) slidegate.Limit) subject {
		return on(ours, func(b *testing.B, i *items, quota int64) *opened {
			return onStore(b, quota, by, dynamostore.New(i.client, i.table), dynamostore.New(i.client, i.table, dynamostore.WithCallerClock()))
		})
	}
	least := on(bare, conditional)
	onServer(b,
		[]subject{least, library(slidegate.SlidingWindow), on("two-counters", twoItems), on("fixed-window", func(_ *testing.B, i *items, quota int64) *opened {
			return &opened{decide: fixed(quota, i.add)}
		})},
		[]subject{least, library(tokenBucket), on("swapped-bucket", swapped)})
}

// conditional is the smallest write that could limit: a conditional increment that
// returns its item.
func conditional(_ *testing.B, i *items, _ int64) *opened {
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		_, err := i.update(ctx, key, "ADD #n :one", "attribute_not_exists(#n) OR #n < :max", map[string]int64{":one": 1, ":max": unlimited})
		return err == nil, err
	}}
}

// counter counts the calls that pass an HTTP client.
type counter struct {
	next dynamodb.HTTPClient
	atomic.Int64
}

// Do sends a request.
func (c *counter) Do(r *http.Request) (*http.Response, error) {
	c.Add(1)
	return c.next.Do(r)
}

// items are numbers in a table, one for each key.
type items struct {
	client *dynamodb.Client
	table  string
}

func twoItems(_ *testing.B, i *items, quota int64) *opened {
	return &opened{decide: twoCounts(quota, func(ctx context.Context, newer, older string) (n, before int64, err error) {
		var reading error
		done := make(chan struct{})
		go func() {
			before, reading = i.number(ctx, older)
			close(done)
		}()
		n, err = i.add(ctx, newer)
		<-done
		return n, before, errors.Join(err, reading)
	})}
}

// swapped keeps the time at which a bucket is full again. One call reads it, and
// one replaces it if it still is the same; otherwise the request fails.
func swapped(_ *testing.B, i *items, quota int64) *opened {
	return &opened{decide: func(ctx context.Context, key string) (bool, error) {
		full, err := i.number(ctx, key)
		if err != nil {
			return false, err
		}
		now := time.Now().UnixNano()
		next := max(full, now) + int64(window)/quota
		if next-now > int64(window) {
			return false, nil
		}
		condition, values := "attribute_not_exists(#n)", map[string]int64{":new": next}
		if full != 0 {
			condition, values[":old"] = "#n = :old", full
		}
		_, err = i.update(ctx, key, "SET #n = :new", condition, values)
		return err == nil, err
	}}
}

// add increments a number, and returns it.
func (i *items) add(ctx context.Context, key string) (int64, error) {
	return i.update(ctx, key, "ADD #n :one", "", map[string]int64{":one": 1})
}

// update writes a number, and returns it.
func (i *items) update(ctx context.Context, key, expression, condition string, numbers map[string]int64) (int64, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &i.table, Key: item(key), UpdateExpression: &expression, ExpressionAttributeNames: map[string]string{"#n": "n"},
		ExpressionAttributeValues: map[string]types.AttributeValue{}, ReturnValues: types.ReturnValueAllNew,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	for name, n := range numbers {
		in.ExpressionAttributeValues[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	out, err := i.client.UpdateItem(ctx, in)
	if err != nil {
		return 0, err
	}
	return number(out.Attributes)
}

// number reads a number; it is 0 for none.
func (i *items) number(ctx context.Context, key string) (int64, error) {
	out, err := i.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &i.table, Key: item(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, err
	}
	return number(out.Item)
}

func item(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}
}

func number(item map[string]types.AttributeValue) (int64, error) {
	n, ok := item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
