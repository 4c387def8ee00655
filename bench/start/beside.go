package main

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/bench/compare/report"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/dynamo/awsconfig"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/test/lambdatest"
)

const (
	coldRounds = 61
	warmRounds = 61
	perRound   = 250 // events of each function
	addresses  = 100 // of clients, in turn
	limitTime  = 2 * time.Minute
)

// aRule admits every event, by one write.
const aRule = `rules: [{name: per-ip, key: "ip:{ip}", limits: [{capacity: 1000000, window: 60s}]}]`

// row is one line of the comparison.
type row = report.LambdaRow

// contest compares the authorizer with the hello-world function, which make the
// same call to one DynamoDB.
type contest struct {
	event []byte
	env   []string
	names [2]string // of the binaries: hello, authorizer
}

// beside builds both functions, and returns how the authorizer compares.
func beside(ctx context.Context, root string) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, limitTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "start")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := contest{names: [2]string{filepath.Join(dir, "hello"), filepath.Join(dir, "authorizer")}}
	if c.event, err = os.ReadFile(filepath.Join(root, "internal/apigw/testdata/http-2.0.event.json")); err != nil {
		return nil, err
	}
	if err := errors.Join(build(filepath.Join(root, "bench"), "./start/hello", c.names[0]), build(root, "./functions/authorizer", c.names[1])); err != nil {
		return nil, err
	}
	remove, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	for _, measure := range []func(context.Context) ([]row, error){c.sizes, c.cold, c.warm} {
		more, err := measure(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// build builds as infra/lambdazip does, for this machine.
func build(module, path, binary string) error {
	command := exec.Command("go", "build", "-o", binary, "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", path)
	command.Dir, command.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", path, err, out)
	}
	return nil
}

// tables creates the tables in the DynamoDB at AWS_ENDPOINT_URL, and publishes
// the rule. remove deletes them.
func (c *contest) tables(ctx context.Context) (remove func(), err error) {
	client, err := awsconfig.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("slidegate-start-%d-%d", os.Getpid(), time.Now().UnixNano())
	counters, rules := dynamo.CountersTable(name+"-counters"), ruletable.Description(name+"-rules")
	for _, table := range []dynamo.Table{counters, rules} {
		if _, err := client.Create(ctx, table); err != nil {
			return nil, err
		}
	}
	set, err := rulefile.Parse("rules.yaml", []byte(aRule))
	if err != nil {
		return nil, err
	}
	if _, err := ruletable.New(client, rules.Name).Publish(ctx, ruletable.Version{Text: []byte(aRule), Document: set.Document()}, 0); err != nil {
		return nil, err
	}
	c.env = []string{"SLIDEGATE_COUNTERS=" + counters.Name, "SLIDEGATE_RULES=" + rules.Name, "SLIDEGATE_DEADLINE=5s", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256"}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		c.env = append(c.env, name+"="+os.Getenv(name))
	}
	return func() {
		for _, table := range []string{counters.Name, rules.Name} {
			_, _ = client.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: &table})
		}
	}, nil
}

// start starts one of the functions.
func (c *contest) start(which int) (*lambdatest.Function, error) {
	command := exec.Command(c.names[which])
	command.Env, command.Stderr = slices.Clone(c.env), os.Stderr
	return lambdatest.Start(command)
}

// invoke sends the event of client i, and fails unless it is authorized.
func (c *contest) invoke(ctx context.Context, f *lambdatest.Function, i int) error {
	event := bytes.ReplaceAll(c.event, []byte("203.0.113.9"), fmt.Appendf(nil, "203.0.113.%d", i%addresses))
	answer, err := f.Invoke(ctx, event)
	if err == nil && !bytes.Contains(answer, []byte(`"isAuthorized":true`)) {
		err = fmt.Errorf("the function answers %s", answer)
	}
	return err
}

// sizes compares the binaries, and the zips that would be deployed.
func (c *contest) sizes(context.Context) ([]row, error) {
	var whole, zipped pair
	for which, name := range c.names {
		binary, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		whole[which], zipped[which] = float64(len(binary))/1e6, float64(deflated(binary))/1e6
	}
	return []row{summarize("binary", "MB", 0, []pair{whole}), summarize("zip", "MB", 0, []pair{zipped})}, nil
}

// cold compares starts: from the process to the answer to the first event.
func (c *contest) cold(ctx context.Context) ([]row, error) {
	wall, cpu, memory := make([]pair, coldRounds), make([]pair, coldRounds), make([]pair, coldRounds)
	for round := range coldRounds {
		for which := range c.names {
			s, err := c.first(ctx, which, round)
			if err != nil {
				return nil, err
			}
			wall[round][which], cpu[round][which] = s.wall.Seconds()*1e3, s.cpu.Seconds()*1e3
			memory[round][which] = float64(s.memory) / 1e6
		}
	}
	return []row{
		summarize("cold start to the first answer", "ms", 1.15, wall), summarize("CPU of a cold start", "ms", 0, cpu),
		summarize("memory after the first answer", "MB", 0, memory),
	}, nil
}

// first starts a function and sends it one event.
func (c *contest) first(ctx context.Context, which, client int) (s start, err error) {
	begun := time.Now()
	f, err := c.start(which)
	if err != nil {
		return s, err
	}
	defer f.Stop()
	if err := c.invoke(ctx, f, client); err != nil {
		return s, err
	}
	s.wall = time.Since(begun)
	return s, s.read(f.PID())
}

// warm compares the CPU time of events in functions that are running.
func (c *contest) warm(ctx context.Context) ([]row, error) {
	var functions [2]*lambdatest.Function
	for which := range functions {
		f, err := c.start(which)
		if err != nil {
			return nil, err
		}
		defer f.Stop()
		functions[which] = f
		if err := c.send(ctx, f); err != nil {
			return nil, err
		}
	}
	cpu, memory := make([]pair, warmRounds), make([]pair, 1)
	for round := range warmRounds {
		for which, f := range functions {
			var before, after start
			if err := errors.Join(before.read(f.PID()), c.send(ctx, f), after.read(f.PID())); err != nil {
				return nil, err
			}
			cpu[round][which] = float64((after.cpu - before.cpu).Microseconds()) / perRound
			memory[0][which] = float64(after.memory) / 1e6
		}
	}
	return []row{summarize("CPU of a warm event", "µs", 1.08, cpu), summarize("memory after warm events", "MB", 0, memory)}, nil
}

// send sends the events of a round.
func (c *contest) send(ctx context.Context, f *lambdatest.Function) error {
	for i := range perRound {
		if err := c.invoke(ctx, f, i); err != nil {
			return err
		}
	}
	return nil
}

// pair holds what hello and the authorizer took in a round.
type pair [2]float64

func summarize(name, unit string, target float64, rounds []pair) row {
	median := func(value func(pair) float64) float64 {
		var all []float64
		for _, p := range rounds {
			all = append(all, value(p))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return row{
		Case: name, Unit: unit, Target: target,
		Bare:      median(func(p pair) float64 { return p[0] }),
		Slidegate: median(func(p pair) float64 { return p[1] }),
		Ratio:     median(func(p pair) float64 { return p[1] / p[0] }),
	}
}

// deflated returns how many bytes an entry of a zip takes.
func deflated(data []byte) int {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Len()
}
