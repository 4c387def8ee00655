//go:build e2e

package attach_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

type object = map[string]any

// TestDenies deploys a limiter and the apps of the templates to a local AWS. The
// rule allows each app ten requests. MiniStack reads no gateway responses of
// definitions, so a REST API may answer 403 there. It reads no definitions of HTTP
// APIs at all, so the test translates those into resources.
func TestDenies(t *testing.T) {
	stacks := newStacks(t)
	function, uri := stacks.limiter(t)
	t.Run("sam", func(t *testing.T) {
		template := parse(t, "sam.yaml")
		resources := template["Resources"].(object)
		translate(t, resources, "ServerlessHttpApi")
		outputs := stacks.create(t, "sam", template, "LimiterFunction", function)
		denies(t, "/restapis/"+outputs["RestApi"]+"/Prod/_user_request_/items?app=sam-rest", 429, 403)
		denies(t, "/_aws/execute-api/"+outputs["HttpApi"]+"/items?app=sam-http", 403)
	})
	t.Run("openapi", func(t *testing.T) {
		backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer backend.Close()
		definition := func(name string) (body object) {
			text := strings.NewReplacer("AUTHORIZER_URI", uri, "https://example.com", backend.URL).Replace(read(t, name))
			unmarshal(t, name, text, &body)
			return body
		}
		resources := object{
			"Rest":       object{"Type": "AWS::ApiGateway::RestApi", "Properties": object{"Body": definition("openapi-rest.yaml")}},
			"Deployment": object{"Type": "AWS::ApiGateway::Deployment", "Properties": object{"RestApiId": ref("Rest"), "StageName": "prod"}},
			"Http":       object{"Type": "AWS::ApiGatewayV2::Api", "Properties": object{"Body": definition("openapi-http.yaml")}},
			"Stage":      object{"Type": "AWS::ApiGatewayV2::Stage", "Properties": object{"ApiId": ref("Http"), "StageName": "$default", "AutoDeploy": true}},
		}
		translate(t, resources, "Http")
		outputs := stacks.create(t, "openapi", object{
			"Resources": resources,
			"Outputs":   object{"RestApi": object{"Value": ref("Rest")}, "HttpApi": object{"Value": ref("Http")}},
		})
		denies(t, "/restapis/"+outputs["RestApi"]+"/prod/_user_request_/items?app=openapi-rest", 429, 403)
		denies(t, "/_aws/execute-api/"+outputs["HttpApi"]+"/items?app=openapi-http", 403)
	})
}

func ref(name string) object { return object{"Ref": name} }

// translate puts resources in place of the definition of an HTTP API, with what
// API Gateway reads of it.
func translate(t *testing.T, resources object, api string) {
	t.Helper()
	body := resources[api].(object)["Properties"].(object)["Body"].(object)
	resources[api] = object{"Type": "AWS::ApiGatewayV2::Api", "Properties": object{"Name": "app", "ProtocolType": "HTTP"}}
	add := func(name, kind string, properties object) {
		properties["ApiId"] = ref(api)
		resources[name] = object{"Type": "AWS::ApiGatewayV2::" + kind, "Properties": properties}
	}
	schemes := body["components"].(object)["securitySchemes"].(object)
	properties := object{"Name": "Slidegate", "IdentitySource": []any{}} // without it, MiniStack requires the header Authorization
	for name, value := range schemes["Slidegate"].(object)["x-amazon-apigateway-authorizer"].(object) {
		properties[strings.ToUpper(name[:1])+name[1:]] = value
	}
	properties["AuthorizerType"] = strings.ToUpper(properties["Type"].(string))
	delete(properties, "Type")
	add("Authorizer", "Authorizer", properties)
	operation := body["paths"].(object)["/items"].(object)["get"].(object)
	if diff := cmp.Diff([]any{object{"Slidegate": []any{}}}, operation["security"]); diff != "" {
		t.Errorf("%s has the security (-want +got):\n%s", api, diff)
	}
	integration := operation["x-amazon-apigateway-integration"].(object)
	add("Integration", "Integration", object{
		"IntegrationType": strings.ToUpper(integration["type"].(string)), "IntegrationMethod": integration["httpMethod"],
		"IntegrationUri": integration["uri"], "PayloadFormatVersion": integration["payloadFormatVersion"],
	})
	add("Route", "Route", object{
		"RouteKey": "GET /items", "AuthorizationType": "CUSTOM", "AuthorizerId": ref("Authorizer"),
		"Target": object{"Fn::Join": []any{"/", []any{"integrations", ref("Integration")}}},
	})
}

// denies sends eleven requests, of which the limiter denies the last one.
func denies(t *testing.T, path string, denied ...int) {
	t.Helper()
	for i := 1; i <= 11; i++ {
		response, err := http.Get(os.Getenv("AWS_ENDPOINT_URL") + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		want := []int{http.StatusOK}
		if i == 11 {
			want = denied
		}
		if !slices.Contains(want, response.StatusCode) {
			t.Fatalf("request %d to %s is answered %d, want %d: %s", i, path, response.StatusCode, want, body)
		}
	}
}

// stacks are those of a local AWS. They are deleted at the end of the test.
type stacks struct {
	client *cloudformation.Client
}

func newStacks(t *testing.T) *stacks {
	t.Helper()
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint == "" || strings.Contains(endpoint, "amazonaws.com") {
		t.Fatalf("AWS_ENDPOINT_URL=%s is not the address of a local emulator: run this by localstack/with.sh", endpoint)
	}
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &stacks{cloudformation.NewFromConfig(cfg)}
}

// limiter deploys the limiter of `make build`, and returns its function
// and the URI for authorizers.
func (s *stacks) limiter(t *testing.T) (function, uri string) {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules: [{name: per-app, key: \"app:{query.app}\", limit: 10/minute}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	slidegate := func(args ...string) {
		if out, err := exec.Command("../../dist/slidegate", append(args, "--stack", "sg-attach", "--yes")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: has `make build` run?\n%s", err, out)
		}
	}
	slidegate("aws", "deploy", "--rules", rules, "--template", "../../dist/files/template.json",
		"--code", "../../infra/lambdas/zips/authorizer_"+runtime.GOARCH+".zip", "--code", "../../infra/lambdas/zips/operations_"+runtime.GOARCH+".zip")
	t.Cleanup(func() { slidegate("aws", "delete") })
	outputs := s.outputs(t, "sg-attach")
	return outputs["RateLimitFunction"], outputs["AuthorizerUri"]
}

// create creates a stack with one parameter at most, and returns its outputs.
func (s *stacks) create(t *testing.T, name string, template object, parameter ...string) map[string]string {
	t.Helper()
	text, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	input := &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(text)), Capabilities: []types.Capability{types.CapabilityCapabilityIam}}
	if parameter != nil {
		input.Parameters = []types.Parameter{{ParameterKey: &parameter[0], ParameterValue: &parameter[1]}}
	}
	if _, err := s.client.CreateStack(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.client.DeleteStack(context.Background(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
			t.Error(err)
		}
	})
	return s.outputs(t, name)
}

// outputs waits until a stack is created.
func (s *stacks) outputs(t *testing.T, name string) map[string]string {
	t.Helper()
	waiter := cloudformation.NewStackCreateCompleteWaiter(s.client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = time.Second, time.Second
	})
	out, err := waiter.WaitForOutput(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute)
	if err != nil {
		t.Fatalf("stack %s: %v", name, err)
	}
	outputs := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	return outputs
}

// parse returns a template as JSON.
func parse(t *testing.T, name string) (parsed object) {
	t.Helper()
	python, err := exec.Command("../../localstack/templates.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(strings.TrimSpace(string(python)), "testdata/parse.py", name).CombinedOutput()
	if err == nil {
		err = json.Unmarshal(out, &parsed)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return parsed
}

// TestTerraform: the files are HCL, name only resources that exist, and state
// what the construct does.
func TestTerraform(t *testing.T) {
	files, err := filepath.Glob("terraform/*.tf")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	found, text := map[string]object{}, ""
	for _, file := range files {
		text += regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(read(t, file), "")
		resources, _ := parse(t, file)["resource"].([]any)
		for _, resource := range resources {
			for kind, named := range resource.(object) {
				for name, body := range named.(object) {
					found[strings.Trim(kind, `"`)+"."+strings.Trim(name, `"`)] = body.(object)
				}
			}
		}
	}
	for _, reference := range regexp.MustCompile(`\baws_\w+\.\w+`).FindAllString(text, -1) {
		if found[reference] == nil {
			t.Errorf("no resource is called %s", reference)
		}
	}
	for resource, want := range map[string]object{
		"aws_api_gateway_authorizer.slidegate": {"type": `"REQUEST"`, "authorizer_result_ttl_in_seconds": 0.0, "identity_source": `"context.identity.sourceIp"`},
		"aws_api_gateway_method.get_items":     {"authorization": `"CUSTOM"`, "authorizer_id": "${aws_api_gateway_authorizer.slidegate.id}"},
		"aws_apigatewayv2_authorizer.slidegate": {
			"authorizer_type": `"REQUEST"`, "authorizer_result_ttl_in_seconds": 0.0, "authorizer_payload_format_version": `"2.0"`,
			"enable_simple_responses": true, "identity_sources": nil,
		},
		"aws_apigatewayv2_authorizer.slidegate_connect": {
			"authorizer_type": `"REQUEST"`, "authorizer_result_ttl_in_seconds": nil, "authorizer_payload_format_version": nil, // for HTTP APIs alone
			"enable_simple_responses": nil, "identity_sources": nil,
		},
		"aws_apigatewayv2_route.connect": {
			"route_key": `"$connect"`, "authorization_type": `"CUSTOM"`, "authorizer_id": "${aws_apigatewayv2_authorizer.slidegate_connect.id}",
		},
		"aws_apigatewayv2_route.get_items": {"authorization_type": `"CUSTOM"`, "authorizer_id": "${aws_apigatewayv2_authorizer.slidegate.id}"},
	} {
		for name, value := range want {
			if diff := cmp.Diff(value, found[resource][name]); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", resource, name, diff)
			}
		}
	}
	testParameters(t, found["aws_cloudformation_stack.slidegate"]["parameters"].(object))
}

// testParameters: the release's template has these parameters, and requires no
// others.
func testParameters(t *testing.T, given object) {
	t.Helper()
	var template struct {
		Parameters map[string]struct{ Default any }
	}
	if err := json.Unmarshal([]byte(read(t, "../../dist/files/template.json")), &template); err != nil {
		t.Fatal(err)
	}
	for name := range given {
		if _, ok := template.Parameters[name]; !ok {
			t.Errorf("the template has no parameter %s", name)
		}
	}
	for name, parameter := range template.Parameters {
		if _, ok := given[name]; !ok && fmt.Sprint(parameter.Default) == "<nil>" {
			t.Errorf("limiter.tf states no %s", name)
		}
	}
}
