//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	root    = "../.."
	account = "000000000000" // what emulators make of the dummy credentials
	region  = "us-east-1"
)

// deployment is the sample stack on a local AWS.
type deployment struct {
	run      string // differs from run to run
	url      string // of the REST API's stage
	http     string // of the HTTP API's default stage
	socket   string // of the WebSocket API's stage
	token    string // of the stage of the REST API with a TOKEN authorizer
	spec     string // of the stage of the REST API by a definition
	counters string // the table
	rules    string // the location of the rules, for commands
	file     string // the rules file that was deployed
	dir      string // of the Lambdas' zips, and of what the CDK synthesized
	cli      string // the command slidegate
	issuer   *issuer
	db       *dynamodb.Client
}

// deploy builds and deploys everything, with rules. The end of the test removes it
// all.
func deploy(t *testing.T) *deployment {
	t.Helper()
	began := time.Now()
	endpoint := localEndpoint(t)
	dir := t.TempDir()
	command(t, root, "go", "build", "-o", filepath.Join(dir, "slidegate"), "./cmd/slidegate")
	issuer, rules := newIssuer(t), filepath.Join(dir, "rules.yaml")
	text, err := os.ReadFile("testdata/rules.yaml")
	if err == nil {
		err = os.WriteFile(rules, bytes.ReplaceAll(text, []byte("ISSUER"), []byte(issuer.URL)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command(t, root, "infra/cdk.sh", "destroy", "--force", "--app", filepath.Join(dir, "cdk.out")) })
	printed := command(t, root, "env", "DIR="+dir, "localstack/deploy.sh", "-c", "rules="+rules, "-c", "apis=all")
	t.Logf("built and deployed after %v", time.Since(began))

	stack := readOutputs(t, filepath.Join(dir, "outputs.json"))
	address := endpoint + "/restapis/" + stack["ApiId"] + "/prod/_user_request_" // the form that every emulator takes
	if !bytes.HasPrefix(printed, []byte(address+"\n")) || !bytes.Contains(printed, []byte("curl ")) {
		t.Errorf("deploy.sh prints %s, want the address %s and a command", printed, address)
	}
	return &deployment{
		issuer:   issuer,
		cli:      filepath.Join(dir, "slidegate"),
		rules:    "dynamodb://" + stack["RateLimitRulesTable"],
		file:     rules,
		dir:      dir,
		run:      fmt.Sprintf("-%d", began.UnixNano()),
		url:      address,
		http:     endpoint + "/_aws/execute-api/" + stack["HttpApiId"],
		socket:   endpoint + "/_aws/execute-api/" + stack["WebSocketApiId"] + "/prod",
		token:    endpoint + "/restapis/" + stack["TokenApiId"] + "/prod/_user_request_",
		spec:     endpoint + "/restapis/" + stack["SpecApiId"] + "/prod/_user_request_",
		counters: stack["RateLimitCountersTable"],
		db: dynamodb.New(dynamodb.Options{
			BaseEndpoint: &endpoint,
			Region:       region,
			Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		}),
	}
}

// localEndpoint returns the emulator's address. It fails the test if there is
// none or if it is AWS.
func localEndpoint(t *testing.T) string {
	t.Helper()
	endpoint := strings.TrimSuffix(os.Getenv("AWS_ENDPOINT_URL"), "/")
	if endpoint == "" {
		t.Fatal("AWS_ENDPOINT_URL is not set: run `make e2e`, or localstack/with.sh go test -tags e2e ./localstack/e2e")
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "amazonaws.com") {
		t.Fatalf("AWS_ENDPOINT_URL=%s is not the address of a local emulator, such as http://127.0.0.1:4566", endpoint)
	}
	return endpoint
}

// architecture returns Lambda's name of this machine's architecture, because
// emulators run the function here, as a process or in a container.
func architecture(t *testing.T) string {
	t.Helper()
	name, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		t.Fatalf("Lambda has no architecture %s: run this on amd64 or arm64", runtime.GOARCH)
	}
	return name
}

// command runs a program in dir against the emulator, and returns its output. It
// shows all that the program printed if that fails.
func command(t *testing.T, dir, name string, args ...string) (stdout []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION="+region, "AWS_DEFAULT_REGION="+region)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, all.Bytes())
	}
	return out.Bytes()
}

func readOutputs(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var stacks map[string]map[string]string
	if err := json.Unmarshal(data, &stacks); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, name := range []string{"ApiId", "HttpApiId", "WebSocketApiId", "TokenApiId", "SpecApiId", "RateLimitCountersTable", "RateLimitRulesTable"} {
		if stacks["Slidegate"][name] == "" {
			t.Fatalf("the stack has no output %s: %s", name, data)
		}
	}
	return stacks["Slidegate"]
}
