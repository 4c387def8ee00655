package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
	"github.com/slidegate/slidegate/internal/test/golden"
)

func TestMain(m *testing.M) { cdktest.Main(m) }

// sampleDist replaces the output of `make sample`: synthesis only hashes it.
func sampleDist(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"authorizer_arm64.zip", "operations_arm64.zip", "backend_arm64.zip"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestStack synthesizes the sample with the REST API, and with an API of each kind.
// CDK's validation report compares its templates with CloudFormation's schemas.
func TestStack(t *testing.T) {
	authorizers := map[string]string{
		"rest": "AWS::ApiGateway::Authorizer REQUEST<nil>",
		"all": "AWS::ApiGateway::Authorizer REQUEST<nil>, AWS::ApiGateway::Authorizer TOKEN<nil>, " +
			"AWS::ApiGatewayV2::Authorizer <nil>REQUEST, AWS::ApiGatewayV2::Authorizer <nil>REQUEST",
	}
	outputs := map[string]string{
		"rest": "ApiId RateLimitCountersTable RateLimitDashboard RateLimitFunction RateLimitNext RateLimitRulesTable Url",
		"all": "ApiId HttpApiId RateLimitCountersTable RateLimitDashboard RateLimitFunction RateLimitNext RateLimitRulesTable " +
			"SpecApiId TokenApiId Url WebSocketApiId",
	}
	for apis := range outputs {
		t.Run(apis, func(t *testing.T) {
			app, outdir := cdktest.NewApp(t, map[string]any{"dist": sampleDist(t), "apis": apis})
			s, err := readSettings(app.Node())
			if err != nil {
				t.Fatal(err)
			}
			stack, err := newStack(app, "Slidegate", s)
			if err != nil {
				t.Fatal(err)
			}
			tpl := cdktest.Synth(t, stack)
			maps.DeleteFunc(tpl.Outputs, func(name string, _ struct{ Value any }) bool { return strings.Contains(name, "ApiEndpoint") }) // CDK's own
			if got := strings.Join(slices.Sorted(maps.Keys(tpl.Outputs)), " "); got != outputs[apis] {
				t.Errorf("the outputs are %s, want %s", got, outputs[apis])
			}
			var found []string
			count := map[string]int{}
			for id, r := range tpl.Resources {
				p := r.Properties
				switch {
				case strings.HasSuffix(r.Type, "::Authorizer"):
					found = append(found, fmt.Sprint(r.Type, " ", p["Type"], p["AuthorizerType"]))
				case r.Type == "AWS::ApiGateway::Method" && strings.HasPrefix(id, "Api"):
					method := fmt.Sprint(p["HttpMethod"])
					count[method]++
					if open := p["AuthorizationType"] == "NONE" && p["AuthorizerId"] == nil; open != (method == "OPTIONS") {
						t.Errorf("%s: authorization is %v", id, p["AuthorizationType"])
					}
				case r.Type == "AWS::Lambda::Function":
					count[fmt.Sprint(p["Architectures"], p["Runtime"])]++
				}
			}
			slices.Sort(found)
			if got := strings.Join(found, ", "); got != authorizers[apis] {
				t.Errorf("the authorizers are %s, want %s", got, authorizers[apis])
			}
			// Without OPTIONS at each of the four paths, ANY would receive the preflights.
			// /v1 has OPTIONS alone.
			if want := map[string]int{"ANY": 4, "OPTIONS": 5, "[arm64]provided.al2023": 3}; !maps.Equal(count, want) {
				t.Errorf("methods and functions: %v, want %v", count, want)
			}
			testValidation(t, outdir)
		})
	}
}

// testValidation checks CDK's validation report, which compares the template
// with CloudFormation's schemas.
func testValidation(t *testing.T, outdir string) {
	data, err := os.ReadFile(filepath.Join(outdir, "validation-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ PluginReports []any }
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.PluginReports) != 0 {
		t.Errorf("the template is not valid: %s", data)
	}
}

func TestStackNeedsTheLambdas(t *testing.T) {
	for _, missing := range []string{"authorizer_arm64.zip", "operations_arm64.zip", "backend_arm64.zip"} {
		dist := sampleDist(t)
		err := os.Remove(filepath.Join(dist, missing))
		if err == nil {
			app, _ := cdktest.NewApp(t, nil)
			_, err = newStack(app, "Slidegate", settings{dist: dist, goarch: "arm64", rules: "../examples/rules.yaml"})
		}
		if err == nil || !strings.Contains(err.Error(), "make sample") || !strings.Contains(err.Error(), filepath.Join(dist, missing)) {
			t.Errorf("error is %v, want the path of %s and `make sample`", err, missing)
		}
	}
}

func TestReadSettings(t *testing.T) {
	for _, tt := range []struct {
		context map[string]any
		want    string
	}{
		{nil, "../dist ../examples/rules.yaml arm64 arm64 0s false RETAIN"},
		{map[string]any{"dist": "d", "architecture": "arm64", "deadline": "250ms", "removal": "retain", "apis": "rest"}, "d ../examples/rules.yaml arm64 arm64 250ms false RETAIN"},
		{map[string]any{"architecture": "x86_64", "deadline": "2s", "removal": "destroy", "rules": "r.yaml", "apis": "all"}, "../dist r.yaml x86_64 amd64 2s true DESTROY"},
	} {
		app, _ := cdktest.NewApp(t, tt.context)
		s, err := readSettings(app.Node())
		if got := fmt.Sprint(s.dist, " ", s.rules, " ", *s.architecture.Name(), " ", s.goarch, " ", s.deadline, " ", s.allAPIs, " ", s.removal); err != nil || got != tt.want {
			t.Errorf("%v: %s, %v; want %s", tt.context, got, err, tt.want)
		}
	}
}

func TestReadSettingsRefuses(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"architecture", "amd64", "context architecture=amd64: unknown architecture: use arm64 or x86_64"},
		{"deadline", "2", "context deadline=2: time: missing unit in duration"},
		{"deadline", "0s", "context deadline=0s: a deadline must be above 0"},
		{"apis", "http", "context apis=http: unknown APIs: use rest or all"},
		{"removal", "DESTROY", "context removal=DESTROY: unknown removal policy: use retain or destroy"},
	} {
		app, _ := cdktest.NewApp(t, map[string]any{tt.name: tt.value})
		if _, err := readSettings(app.Node()); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("error is %v, want %q", err, tt.want)
		}
	}
}

// TestGenerated writes the part of the construct for TypeScript and Python that
// follows lists of this repository: a method for each metric of the Lambda, one
// more for each that also counts by rule, and the gateway responses.
func TestGenerated(t *testing.T) {
	source, err := os.ReadFile("testdata/generated.ts.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var metrics []metric.Metric
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 {
			metrics = append(metrics, m)
		}
	}
	asJSON := func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	page := template.Must(template.New("").Funcs(template.FuncMap{"stat": watch.Stat, "json": asJSON}).Parse(string(source)))
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Namespace": metric.Namespace, "Metrics": metrics, "Responses": apigw.GatewayResponses()}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "constructs/src/generated.ts", text.String())
}

// TestTemplate lists what `slidegate aws deploy` relies on. The template has no
// assets, because nothing would upload them, and fits into a call.
func TestTemplate(t *testing.T) {
	written := func(version string) []byte {
		out := filepath.Join(t.TempDir(), "template.json")
		err := writeTemplate(version, out)
		text, readErr := os.ReadFile(out)
		if err := cmp.Or(err, readErr); err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := written("v0.2.0")
	golden.Check(t, "template/template.json", string(written("v0.0.0-dev"))) // which `make build` puts into the command
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
		if has := r.Properties["PermissionsBoundary"]; r.Type == "AWS::IAM::Role" && !reflect.DeepEqual(has, any(bounded)) {
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
