package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
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

// TestStack synthesizes the sample once, with no setting but the directory of
// its code.
func TestStack(t *testing.T) {
	app, outdir := cdktest.NewApp(t, map[string]any{"dist": sampleDist(t)})
	s, err := readSettings(app.Node())
	if err != nil {
		t.Fatal(err)
	}
	stack, err := newStack(app, "Slidegate", s)
	if err != nil {
		t.Fatal(err)
	}
	tpl := cdktest.Synth(t, stack)
	t.Run("outputs", func(t *testing.T) { testOutputs(t, tpl) })
	t.Run("methods", func(t *testing.T) { testMethods(t, tpl) })
	t.Run("functions", func(t *testing.T) { testFunctions(t, tpl) })
	t.Run("valid to CloudFormation", func(t *testing.T) { testValidation(t, outdir) })
}

// TestAllAPIs synthesizes the sample with an API of each kind.
func TestAllAPIs(t *testing.T) {
	app, outdir := cdktest.NewApp(t, map[string]any{"dist": sampleDist(t), "apis": "all"})
	s, err := readSettings(app.Node())
	if err != nil {
		t.Fatal(err)
	}
	stack, err := newStack(app, "Slidegate", s)
	if err != nil {
		t.Fatal(err)
	}
	authorizers := map[string]int{}
	for _, r := range cdktest.Synth(t, stack).Resources {
		if strings.HasSuffix(r.Type, "::Authorizer") {
			authorizers[fmt.Sprint(r.Type, " ", r.Properties["Type"], r.Properties["AuthorizerType"])]++
		}
	}
	want := map[string]int{
		"AWS::ApiGateway::Authorizer REQUEST<nil>":   1,
		"AWS::ApiGateway::Authorizer TOKEN<nil>":     1,
		"AWS::ApiGatewayV2::Authorizer <nil>REQUEST": 2,
	}
	if !maps.Equal(authorizers, want) {
		t.Errorf("authorizers %v, want %v", authorizers, want)
	}
	testValidation(t, outdir)
}

func testOutputs(t *testing.T, tpl cdktest.Template) {
	want := []string{"ApiId", "RateLimitCountersTable", "RateLimitDashboard", "RateLimitFunction", "RateLimitNext", "RateLimitRulesTable", "Url"}
	if got := slices.Sorted(maps.Keys(tpl.Outputs)); !slices.Equal(got, want) {
		t.Errorf("the outputs are %v, want %v", got, want)
	}
}

// testMethods checks that each path with ANY also has OPTIONS. Otherwise ANY
// would receive the preflights.
func testMethods(t *testing.T, tpl cdktest.Template) {
	methods := map[string][]string{}
	for _, r := range tpl.Resources {
		if r.Type != "AWS::ApiGateway::Method" {
			continue
		}
		path, method := pathOf(tpl, r.Properties["ResourceId"]), r.Properties["HttpMethod"].(string)
		methods[path] = append(methods[path], method)
		if open := r.Properties["AuthorizationType"] == "NONE" && r.Properties["AuthorizerId"] == nil; open != (method == "OPTIONS") {
			t.Errorf("%s %s: authorization is %v", method, path, r.Properties["AuthorizationType"])
		}
	}
	for _, path := range []string{"/", "/v1/items", "/v1/items/{id}", "/{proxy+}"} {
		slices.Sort(methods[path])
		if !slices.Equal(methods[path], []string{"ANY", "OPTIONS"}) {
			t.Errorf("%s has the methods %v, want ANY and OPTIONS", path, methods[path])
		}
	}
}

// pathOf follows a method's ResourceId up to the root.
func pathOf(tpl cdktest.Template, resourceID any) string {
	id, ok := resourceID.(map[string]any)["Ref"].(string)
	if !ok {
		return "/" // Fn::GetAtt RootResourceId
	}
	properties := tpl.Resources[id].Properties
	return strings.TrimSuffix(pathOf(tpl, properties["ParentId"]), "/") + "/" + properties["PathPart"].(string)
}

func testFunctions(t *testing.T, tpl cdktest.Template) {
	seen := 0
	for id, r := range tpl.Resources {
		if r.Type != "AWS::Lambda::Function" {
			continue
		}
		seen++
		if got := fmt.Sprintf("%v %v", r.Properties["Architectures"], r.Properties["Runtime"]); got != "[arm64] provided.al2023" {
			t.Errorf("%s runs on %s, want [arm64] provided.al2023", id, got)
		}
	}
	if seen != 3 {
		t.Errorf("the stack has %d functions, want the authorizer, operations and the backend", seen)
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
		t.Run(missing, func(t *testing.T) {
			dist := sampleDist(t)
			if err := os.Remove(filepath.Join(dist, missing)); err != nil {
				t.Fatal(err)
			}
			app, _ := cdktest.NewApp(t, nil)
			_, err := newStack(app, "Slidegate", settings{dist: dist, goarch: "arm64", rules: "../examples/rules.yaml"})
			if err == nil || !strings.Contains(err.Error(), "make sample") || !strings.Contains(err.Error(), filepath.Join(dist, missing)) {
				t.Errorf("error is %v, want the path and `make sample`", err)
			}
		})
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
	tests := []struct{ name, value, want string }{
		{"architecture", "amd64", "context architecture=amd64: unknown architecture: use arm64 or x86_64"},
		{"deadline", "2", "context deadline=2: time: missing unit in duration"},
		{"deadline", "0s", "context deadline=0s: a deadline must be above 0"},
		{"apis", "http", "context apis=http: unknown APIs: use rest or all"},
		{"removal", "DESTROY", "context removal=DESTROY: unknown removal policy: use retain or destroy"},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			app, _ := cdktest.NewApp(t, map[string]any{tt.name: tt.value})
			if _, err := readSettings(app.Node()); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
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
