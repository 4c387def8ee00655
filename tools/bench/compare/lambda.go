package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
	"github.com/slidegate/slidegate/internal/test/lambdatest"
)

// Names of the rows of the authorizer: under one rule, and under more.
const (
	authorizer    = "authorizer"
	thousandRules = "authorizer, 1,000 rules"
	manyRules     = "authorizer, 5,000 rules"
)

// wholeCPU is the memory in MB at which a Lambda has one CPU. Others have their
// share by memory (AWS: "Configure Lambda function memory").
const wholeCPU = 1769

// lambdas are the functions that are compared: the hello-world function in
// hello, and the authorizer, which makes the same call to the same DynamoDB.
type lambdas struct {
	event     []byte
	dir       string // of the binaries
	functions []function
}

type function struct {
	name, binary string
	env          []string
	remove       func() // its tables
}

// newLambdas builds the functions as infra/lambdazip does, for this machine, and
// creates their tables in the DynamoDB at AWS_ENDPOINT_URL.
func newLambdas(ctx context.Context, root string) (*lambdas, error) {
	event, err := os.ReadFile(filepath.Join(root, "internal/lambda/apigw/testdata/http-2.0.event.json"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-lambda")
	if err != nil {
		return nil, err
	}
	l := &lambdas{event: event, dir: dir}
	for module, path := range map[string]string{filepath.Join(root, "bench"): "./compare/hello", root: "./functions/authorizer"} {
		command := exec.Command("go", "build", "-o", dir, "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", path)
		command.Dir, command.Env = module, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			return l, fmt.Errorf("go build %s: %w\n%s", path, err, out)
		}
	}
	for _, f := range []struct {
		name, binary string
		rules        int
	}{{bare, "hello", 1}, {authorizer, "authorizer", 1}, {thousandRules, "authorizer", 1000}, {manyRules, "authorizer", 5000}} {
		env, remove, err := tables(ctx, f.rules)
		if err != nil {
			return l, err
		}
		l.functions = append(l.functions, function{f.name, filepath.Join(dir, f.binary), env, remove})
	}
	return l, nil
}

func (l *lambdas) close() {
	for _, f := range l.functions {
		f.remove()
	}
	_ = os.RemoveAll(l.dir)
}

// tables creates tables for a function. It publishes n rules: one that admits
// every event by one write, and others by path.
func tables(ctx context.Context, n int) (env []string, remove func(), err error) {
	client, err := awsconfig.Connect(ctx, time.Now)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	counters, rules := dynamo.CountersTable(name+"-counters"), ruletable.Description(name+"-rules")
	text := "rules:\n  - {name: per-ip, key: 'ip:{ip}', limits: [{capacity: 1000000, window: 60s}]}\n"
	for i := range n - 1 {
		text += fmt.Sprintf("  - {name: r%d, when: {path: /v1/service-%d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
	}
	set, err := rulefile.Parse("rules.yaml", []byte(text))
	for _, table := range []dynamo.Table{counters, rules} {
		if err == nil {
			_, err = client.Create(ctx, table)
		}
	}
	if err == nil {
		_, err = ruletable.New(client, rules.Name).Publish(ctx, ruletable.Version{Text: []byte(text), Document: set.Document()}, 0)
	}
	env = []string{"SLIDEGATE_COUNTERS=" + counters.Name, "SLIDEGATE_RULES=" + rules.Name, "SLIDEGATE_DEADLINE=5s", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env, func() {
		for _, table := range []string{counters.Name, rules.Name} {
			_, _ = client.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: &table})
		}
	}, err
}

// cold compares starts, from the process to the answer to the first event.
func (l *lambdas) cold(ctx context.Context) (map[string]result, error) {
	return l.measure(ctx, l.functions, 31, 1)
}

// warm compares a thousand events, of which the start is the smallest part.
func (l *lambdas) warm(ctx context.Context) (map[string]result, error) {
	return l.measure(ctx, l.functions[:2], 9, 1000)
}

// measure has the functions answer events in turns, each in a process of its
// own.
func (l *lambdas) measure(ctx context.Context, functions []function, rounds, events int) (map[string]result, error) {
	turns, memory := make([][]turn, len(functions)), make([]int64, len(functions))
	for range rounds {
		for i, f := range functions {
			t, most, err := l.run(ctx, f, events)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			turns[i], memory[i] = append(turns[i], t), max(memory[i], most)
		}
	}
	results := map[string]result{}
	for i, f := range functions {
		r := summarise(turns[i], turns[0])
		r.size = float64(memory[i])
		results[f.name] = r
	}
	return results, nil
}

// run has a new process answer events, and returns the time that it took and the
// most memory that was resident, in bytes.
func (l *lambdas) run(ctx context.Context, f function, events int) (t turn, memory int64, err error) {
	command := exec.Command(f.binary)
	command.Env, command.Stderr = slices.Clone(f.env), os.Stderr
	begun := time.Now()
	process, err := lambdatest.Start(command)
	if err != nil {
		return t, 0, err
	}
	for i := 0; i < events && err == nil; i++ {
		var answer []byte
		// A hundred clients in turn.
		answer, err = process.Invoke(ctx, bytes.ReplaceAll(l.event, []byte("203.0.113.9"), fmt.Appendf(nil, "203.0.113.%d", i%100)))
		if err == nil && !bytes.Contains(answer, []byte(`"isAuthorized":true`)) {
			err = fmt.Errorf("the function answers %s", answer)
		}
	}
	t.wall, t.decisions = time.Since(begun), int64(events)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID())) // Linux alone has it
	_, most, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(most, &memory)
	process.Stop()
	t.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return t, memory << 10, err
}
