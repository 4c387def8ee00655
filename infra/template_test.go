package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestTemplate lists what `slidegate aws deploy` relies on. The template has no
// assets, because nothing would upload them, and fits into a call.
func TestTemplate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "template.json")
	err := writeTemplate("v0.2.0", out)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeTemplate("v0.0.0-dev", out); err != nil {
		t.Fatal(err)
	}
	development, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "template/template.json", string(development)) // which `make build` puts into the command
	if len(text) > 51_200 || bytes.Contains(text, []byte("cdk-hnb659fds")) {
		t.Errorf("it has %d bytes, or assets", len(text))
	}
	var template struct {
		Outputs   map[string]struct{ Value any }
		Resources map[string]cdktest.Resource
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`{{resolve:secretsmanager:${HashSecret}}}`)) {
		t.Error("a parameter of a secret cannot name a version, as NAME:SecretString:::VERSION")
	}
	longest := 0
	bounded := map[string]any{"Fn::If": []any{"HasPermissionsBoundary", map[string]any{"Ref": "PermissionsBoundary"}, map[string]any{"Ref": "AWS::NoValue"}}}
	for name, r := range template.Resources {
		if has := r.Properties["PermissionsBoundary"]; r.Type == "AWS::IAM::Role" && !cmp.Equal(has, any(bounded)) {
			t.Errorf("role %s has the permissions boundary %v, not the parameter's", name, has)
		}
		if r.Type == "AWS::IAM::Role" || r.Type == "AWS::Lambda::Function" {
			longest = max(longest, len(name))
		}
	}
	if fits := 64 - longest - len("--1U44TLUZ7OR55"); predeploy.MaxStack != fits {
		t.Errorf("AWS shortens names, such as STACK-RateLimitRole1A2B3C4D-1U44TLUZ7OR55, if that of the stack has more than %d characters, and MaxStack is %d", fits, predeploy.MaxStack)
	}
	if version, _ := template.Outputs["SlidegateVersion"].Value.(string); !strings.HasPrefix(version, "v0.2.0+") {
		t.Errorf("version %s", version)
	}
}

// TestWithout evaluates the dashboard's body under each condition: it is a whole
// JSON document with the alarms' status, and without.
func TestWithout(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack, err := newLimiterStack(app, "v0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	dashboard := cdktest.Synth(t, stack).One(t, "AWS::CloudWatch::Dashboard", "")
	for _, test := range []struct {
		alarms bool
		first  string // type of the first widget
	}{{true, "alarm"}, {false, "text"}} {
		body := cdktest.Text(dashboard.Properties["DashboardBody"], test.alarms)
		var shown struct{ Widgets []struct{ Type string } }
		if err := json.Unmarshal([]byte(body), &shown); err != nil || len(shown.Widgets) < 15 || shown.Widgets[0].Type != test.first {
			t.Errorf("with alarms %t: %v, %+v", test.alarms, err, shown)
		}
		if strings.Contains(body, "Arn") != test.alarms { // of an alarm
			t.Errorf("with alarms %t: %s", test.alarms, body)
		}
	}
}

// TestNag checks the template by the rules AwsSolutions of cdk-nag. Synthesis
// panics for what the construct does not acknowledge with a reason.
func TestNag(t *testing.T) {
	app, outdir := cdktest.NewApp(t, nil)
	awscdk.Validations_Of(app).AddPlugins(cdktest.Nag(t, app, "."))
	if _, err := newLimiterStack(app, "v0.2.0"); err != nil {
		t.Fatal(err)
	}
	app.Synth(nil)
	data, err := os.ReadFile(filepath.Join(outdir, "validation-report.json"))
	if err != nil || !bytes.Contains(data, []byte("AwsSolutions")) {
		t.Errorf("the rules did not run: %s, error %v", data, err)
	}
}
