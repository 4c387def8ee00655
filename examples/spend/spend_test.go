// Package spend_test runs the programs of this directory with Python and Node, against
// slidegate serve and against Lambdas of a local AWS.
package spend_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

const secret = "0123456789abcdef0123456789abcdef"

type object = map[string]any

// programs are a process of each language.
type programs map[string]*program

// program is a process that runs the programs of a language.
type program struct {
	testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// TestPrograms: by HTTP and by Invoke, from both languages, over the same counters.
func TestPrograms(t *testing.T) {
	all := start(t)
	for language, p := range all {
		for _, over := range []string{"http", "invoke"} {
			t.Run(language+" over "+over, func(t *testing.T) {
				customer := strings.ToLower(language) + "-" + over
				t.Run("settles once", func(t *testing.T) { p.settles(t, over, customer) })
				t.Run("streams", func(t *testing.T) { p.streams(t, over, customer+"-model") })
				t.Run("consumes", func(t *testing.T) { p.consumes(t, over, customer) })
				if got := p.run(object{"over": over, "call": "decisions", "body": object{"method": "GET"}}); !strings.Contains(got, "slidegate: path: want the target") {
					t.Errorf("bad input is answered %s", got)
				}
			})
		}
	}
	t.Run("at once", func(t *testing.T) { all.atOnce(t) })
}

func chat(customer string) object {
	return object{"method": "POST", "path": "/chat", "jwt": object{"sub": customer}, "headers": object{"x-max-tokens": "4000"}}
}

// settles reserves 4,000 tokens, settles 812, and sends each call again.
func (p *program) settles(t *testing.T, over, customer string) {
	decision := chat(customer)
	decision["id"] = "one"
	var receipt string
	for i := range 2 {
		var held struct {
			Allowed, Before bool
			Receipt         string
		}
		text := p.call(over, "decisions", decision)
		decode(t, text, &held)
		if receipt = held.Receipt; !held.Allowed || held.Before != (i > 0) || receipt == "" {
			t.Fatalf("decision %d is %s", i, text)
		}
	}
	for i, want := range []string{`{"limits":{"chat":{"charged":4000,"cost":812,"returned":3188}}}`, `{"before":true}`} {
		got := p.call(over, "settlements", object{"receipt": receipt, "usage": object{"input_tokens": 212, "output_tokens": 120}})
		if got != want {
			t.Errorf("settlement %d is answered %s, want %s", i, got, want)
		}
	}
	p.used(t, over, customer, 812)
}

// used compares what usage shows of a customer for whom this process has not asked
// in the last second.
func (p *program) used(t *testing.T, over, customer string, want int64) {
	t.Helper()
	var report struct {
		Rules []struct{ Limits []struct{ Used int64 } }
	}
	text := p.call(over, "usage", chat(customer))
	decode(t, text, &report)
	if len(report.Rules) != 2 || report.Rules[0].Limits[0].Used != want {
		t.Errorf("usage is %s, want %d", text, want)
	}
}

// streams asks the model twice: its answer costs what it used, or all that was
// reserved if the client hangs up.
func (p *program) streams(t *testing.T, over, customer string) {
	parts := []object{{"text": "a"}, {"text": "b"}, {"usage": object{"input_tokens": 212, "output_tokens": 120}}}
	for hangsUpAfter, want := range map[int]string{9: `["a","b"]`, 1: `["a"]`} {
		if got := p.run(object{"over": over, "ask": customer, "parts": parts, "hangs_up_after": hangsUpAfter}); got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	}
	p.used(t, over, customer, 4812)
}

// consumes handles four messages of a customer who has one job at work elsewhere.
func (p *program) consumes(t *testing.T, over, customer string) {
	elsewhere := object{"method": "POST", "path": "/jobs", "jwt": object{"sub": customer}}
	for range 2 {
		if got := p.call(over, "decisions", elsewhere); !strings.Contains(got, `"allowed":true`) {
			t.Fatal(got)
		}
	}
	message := func(id, customer string) object {
		return object{"messageId": id, "body": "job " + id, "attributes": object{"ApproximateReceiveCount": "1"},
			"messageAttributes": object{"customer": object{"stringValue": customer}}}
	}
	event := object{"Records": []object{message("1", customer), message("2", customer+"-other"), message("3", customer+"-other")}}
	var got struct {
		Answer struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		Worked []string
	}
	text := p.run(object{"over": over, "event": event})
	decode(t, text, &got)
	slices.Sort(got.Worked)
	if fmt.Sprint(got) != "{{[{1}]} [job 2 job 3]}" {
		t.Errorf("consumed %s", text)
	}
	for range 2 { // both places are free again
		elsewhere["jwt"] = object{"sub": customer + "-other"}
		if got := p.call(over, "decisions", elsewhere); !strings.Contains(got, `"allowed":true`) {
			t.Error(got)
		}
	}
}

// wide has every settlement that is sent at once go through a Lambda. The local AWS
// takes a tenth of a second for each.
var wide = flag.Bool("wide", false, "send each settlement by Invoke too, not every eighth, as make test-wide does")

// rounds is how often the same settlement is sent by both processes at once.
const rounds = 200

// atOnce has two processes send the same settlement at once: both by HTTP, or one of
// them by Invoke, in turn. One of them settles.
func (all programs) atOnce(t *testing.T) {
	python, node := all["Python"], all["Node"]
	for i := range rounds {
		over := [2]string{"http", "http"}
		if *wide || i%8 == 0 {
			over[i/8%2] = "invoke"
		}
		var held struct{ Receipt string }
		decode(t, python.call("http", "decisions", chat("at-once")), &held)
		settlement := object{"call": "settlements", "body": object{"receipt": held.Receipt, "usage": object{"input_tokens": 812}}}
		var answers []string
		for j, p := range []*program{python, node} {
			settlement["over"] = over[j]
			p.send(settlement)
		}
		for _, p := range []*program{python, node} {
			answers = append(answers, p.receive())
		}
		slices.Sort(answers)
		if got := strings.Join(answers, " "); got != `{"before":true} {"limits":{"chat":{"charged":4000,"cost":812,"returned":3188}}}` {
			t.Fatalf("round %d is answered %s", i, got)
		}
	}
	node.used(t, "invoke", "at-once", rounds*812)
}

// TestLength: a program is short enough to read at a glance.
func TestLength(t *testing.T) {
	for _, pattern := range []string{"*.py", "*.ts"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) != 4 {
			t.Fatalf("%q, %v", names, err)
		}
		for _, name := range names {
			if lines := strings.Count(read(t, name), "\n"); lines > 30 {
				t.Errorf("%s has %d lines", name, lines)
			}
		}
	}
}

func (p *program) call(over, name string, body object) string {
	p.Helper()
	return p.run(object{"over": over, "call": name, "body": body})
}

func (p *program) run(command object) string {
	p.Helper()
	p.send(command)
	return p.receive()
}

func (p *program) send(command object) {
	line, err := json.Marshal(command)
	if err == nil {
		_, err = fmt.Fprintf(p.in, "%s\n", line)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// receive returns an answer without spaces after its signs, as Node writes it.
func (p *program) receive() string {
	p.Helper()
	if !p.out.Scan() {
		p.Fatalf("no answer: %v", p.out.Err())
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, p.out.Bytes()); err != nil {
		p.Fatalf("%v: %s", err, p.out.Text())
	}
	return compact.String()
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// start starts a server and the functions over the same tables, and a process of
// each language that knows both.
func start(t *testing.T) programs {
	t.Helper()
	clients, err := filepath.Abs("../../.cache/clients")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(clients, "installed")); err != nil {
		t.Fatalf("there are no SDKs to test with: run localstack/clients.sh, which puts them into .cache/ (%v)", err)
	}
	client := dynamotest.Connect(t)
	counters, rules := dynamotest.Counters(t, client), dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	text := read(t, "rules.yaml")
	set, err := rulefile.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ruletable.New(client, rules).Publish(t.Context(), ruletable.Version{Text: []byte(text), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLIDEGATE_RECEIPT_SECRET", secret)
	for name, value := range deploy(t, map[string]string{"SLIDEGATE_COUNTERS": counters, "SLIDEGATE_RULES": rules, "SLIDEGATE_DEADLINE": "5s", "SLIDEGATE_RECEIPT_SECRET": secret}) {
		t.Setenv(name, value)
	}
	t.Setenv("SLIDEGATE_URL", serve(t, counters, rules))
	return programs{
		"Python": command(t, filepath.Join(clients, "bin", "python"), "testdata/drive.py", "."),
		"Node":   command(t, "node", compile(t, clients)),
	}
}

// build returns the path of a program of this module.
func build(t *testing.T, path string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "bootstrap")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../../"+path).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// deploy makes the functions, and returns the variables with their names.
func deploy(t *testing.T, environment map[string]string) map[string]string {
	t.Helper()
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := lambda.NewFromConfig(cfg)
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(file, read(t, build(t, "functions/operations")))
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for _, role := range []string{"decide", "settle"} {
		name := dynamotest.Name() + "-" + role
		if _, err := client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
			FunctionName: &name, Handler: &role, Runtime: types.RuntimeProvidedal2023, Role: aws.String("arn:aws:iam::000000000000:role/test"),
			Architectures: []types.Architecture{map[string]types.Architecture{"amd64": types.ArchitectureX8664, "arm64": types.ArchitectureArm64}[runtime.GOARCH]},
			Code:          &types.FunctionCode{ZipFile: code.Bytes()}, Environment: &types.Environment{Variables: environment},
			Timeout: aws.Int32(10), MemorySize: aws.Int32(256),
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = client.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: &name})
		})
		variables["SLIDEGATE_"+strings.ToUpper(role)+"_FUNCTION"] = name
	}
	return variables
}

// serve starts slidegate, and returns its address.
func serve(t *testing.T, counters, rules string) string {
	t.Helper()
	process := exec.Command(build(t, "cmd/slidegate"), "serve", "--decide", "--usage-path", "/v1/usage", "--listen", "127.0.0.1:0", "--json", "--deadline", "5s",
		"--store", "dynamodb://"+counters, "--rules", "dynamodb://"+rules)
	output, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	run(t, process)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var line struct{ URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return line.URL
		}
		t.Log(lines.Text())
	}
	t.Fatal("slidegate does not serve")
	return ""
}

// compile checks and compiles the programs in TypeScript, and returns the path of
// the one that runs the others.
func compile(t *testing.T, clients string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(clients, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"by_invoke.ts", "consumer.ts", "model.ts", "over_http.ts", "testdata/drive.ts"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(read(t, name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tsc := exec.Command(filepath.Join(clients, "node_modules", ".bin", "tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--types", "node", "drive.ts")
	tsc.Dir = dir
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return filepath.Join(dir, "drive.js")
}

// command starts a process that answers lines.
func command(t *testing.T, name string, args ...string) *program {
	t.Helper()
	process := exec.Command(name, args...)
	process.Stderr = t.Output()
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run(t, process)
	return &program{t, in, bufio.NewScanner(out)}
}

// run starts a process, which ends with the test.
func run(t *testing.T, process *exec.Cmd) {
	t.Helper()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
}
