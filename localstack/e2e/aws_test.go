//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	deployments "github.com/slidegate/slidegate/internal/operator/aws"
)

// byCommand is a stack that only the command deploys.
type byCommand struct {
	endpoint, dir string
	code          []string // flags in place of what a released command carries
}

// TestDeployByCommand deploys the template without the CDK, updates it, has an
// update rolled back, and deletes it.
func TestDeployByCommand(t *testing.T) {
	c := newByCommand(t)
	rules := func(limit string) string {
		path := filepath.Join(c.dir, "rules.yaml")
		text := "rules:\n  - {name: per-ip, key: 'ip:{ip}', limit: " + limit + ", on_error: allow}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := c.deploy(t, "--rules", rules("3/hour"))
	if first.Status != deployments.Created || first.Next != "slidegate rules list --rules stack://e2e/RateLimit" {
		t.Fatalf("the first deployment: %+v", first)
	}
	c.denies(t, first)
	if got := c.deploy(t); got.Status != deployments.Unchanged {
		t.Errorf("the same again: %+v", got)
	}
	if got := c.deploy(t, "--rules", rules("4/hour")); got.Status != deployments.Updated {
		t.Errorf("other rules: %+v", got)
	}
	c.slidegate(t, 0, "rules", "apply", rules("5/hour"), "--rules", "stack://e2e", "--why", "an incident")
	_, stderr := c.slidegate(t, 1, append([]string{"aws", "deploy", "--stack", "e2e", "--rules", rules("6/hour")}, c.code...)...)
	for _, want := range []string{"failed   Custom::SlidegateRules", "stack e2e could not be updated, and is as before", `"an incident"`, "--on-changed-rules overwrite"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("an update over rules changed by hand prints %q, want %s", stderr, want)
		}
	}
	if text, _ := c.slidegate(t, 0, "rules", "get", "--rules", "stack://e2e"); !strings.Contains(text, "5/hour") {
		t.Errorf("after the rollback the rules are %s", text)
	}
	if got := c.deploy(t, "--rules", rules("6/hour"), "--on-changed-rules", "overwrite"); got.Status != deployments.Updated {
		t.Errorf("an update that overwrites: %+v", got)
	}
	if text, _ := c.slidegate(t, 0, "rules", "get", "--rules", "stack://e2e"); !strings.Contains(text, "6/hour") {
		t.Errorf("the rules are %s", text)
	}
	c.delete(t)
}

func newByCommand(t *testing.T) *byCommand {
	t.Helper()
	c := &byCommand{endpoint: localEndpoint(t), dir: t.TempDir()}
	command(t, root+"/infra", "go", "run", "./lambdazip", "-goarch", runtime.GOARCH, "-o", c.dir, "authorizer", "operations")
	command(t, root, "go", "build", "-o", filepath.Join(c.dir, "slidegate"), "./cmd/slidegate")
	template := filepath.Join(c.dir, "template.json")
	command(t, root+"/infra", "go", "run", "./template", "-version", "v0.0.1", "-o", template)
	c.code = []string{"--architecture", architecture(t), "--template", template}
	for _, name := range []string{"authorizer", "operations"} {
		c.code = append(c.code, "--code", filepath.Join(c.dir, name+"_"+runtime.GOARCH+".zip"))
	}
	return c
}

// slidegate runs the command, which has to exit with a code.
func (c *byCommand) slidegate(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.dir, "slidegate"), args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION="+region)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != code {
		t.Fatalf("slidegate %s: %v, want exit %d\n%s%s", strings.Join(args, " "), err, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func (c *byCommand) deploy(t *testing.T, args ...string) (report deployments.DeployReport) {
	t.Helper()
	out, _ := c.slidegate(t, 0, slices.Concat([]string{"aws", "deploy", "--stack", "e2e", "--json"}, args, c.code)...)
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	return report
}

// denies calls the authorizer as a gateway does, until it denies by the limit. A
// slow machine may add requests that are decided without the table.
func (c *byCommand) denies(t *testing.T, r deployments.DeployReport) {
	t.Helper()
	event, err := os.ReadFile(root + "/internal/apigw/testdata/several.event.json")
	if err != nil {
		t.Fatal(err)
	}
	function := r.Outputs[slices.IndexFunc(r.Outputs, func(o deployments.Output) bool { return o.Name == "RateLimitFunction" })].Value
	for i := range 10 {
		response, err := http.Post(c.endpoint+"/2015-03-31/functions/"+function+"/invocations", "application/json", bytes.NewReader(event))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Context map[string]any }
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		switch allowed, degraded := answer.Context["allowed"], answer.Context["degraded"]; {
		case err != nil || allowed == nil:
			t.Fatalf("request %d is answered %+v, %v", i, answer, err)
		case allowed == "true" && degraded == "false" && i > 2, allowed == "false" && (i < 3 || degraded == "true"):
			t.Fatalf("request %d is answered %v", i, answer.Context)
		case allowed == "false":
			return
		}
	}
	t.Error("ten requests were not denied")
}

// delete deletes the stack, and then the tables that it leaves.
func (c *byCommand) delete(t *testing.T) {
	t.Helper()
	out, _ := c.slidegate(t, 0, "aws", "delete", "--stack", "e2e", "--yes", "--json")
	var report deployments.DeleteReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	db := dynamodb.New(dynamodb.Options{BaseEndpoint: &c.endpoint, Region: region, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	tables := 0
	for _, k := range report.Kept {
		if k.Type != "AWS::DynamoDB::Table" {
			continue
		}
		tables++
		_, err := db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &k.ID, DeletionProtectionEnabled: aws.Bool(false)})
		if err == nil {
			_, err = db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &k.ID})
		}
		if err != nil {
			t.Error(err)
		}
	}
	if tables != 2 {
		t.Errorf("deleted, and kept %+v; want two tables", report.Kept)
	}
}
