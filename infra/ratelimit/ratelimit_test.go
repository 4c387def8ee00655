package ratelimit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/lambdas"
	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

func TestMain(m *testing.M) {
	// CDK's own check of each template takes seconds. Only the test of the
	// sample stack enables it.
	os.Setenv("CDK_VALIDATION", "false")
	cdktest.Main(m)
}

// synth builds a stack with one RateLimit and, unless extend adds something
// else, an API that it protects. It has neither alarms nor a dashboard, which
// take the CDK most of its time; watched adds them.
func synth(t *testing.T, props ratelimit.Props, extend func(awscdk.Stack, *ratelimit.RateLimit)) cdktest.Template {
	t.Helper()
	props.WithoutAlarms, props.WithoutDashboard = true, true // as unwatched
	return watched(t, props, extend)
}

var unwatched = ratelimit.Props{WithoutAlarms: true, WithoutDashboard: true}

func watched(t *testing.T, props ratelimit.Props, extend func(awscdk.Stack, *ratelimit.RateLimit)) cdktest.Template {
	t.Helper()
	return cdktest.Synth(t, build(t, props, extend))
}

// plain returns the template of a limiter without props, and of an API.
func plain(t *testing.T) cdktest.Template { return shared(t, "plain", ratelimit.Props{}) }

// withRules returns the template of a limiter that publishes someRules.
func withRules(t *testing.T) cdktest.Template {
	return shared(t, "rules", ratelimit.Props{Rules: rulesFile(t, someRules), OperationsCode: code(t)})
}

var templates = map[string][]byte{} // JSON, so that each test gets its own copy

// shared synthesizes the first time alone, because that takes a second.
func shared(t *testing.T, name string, props ratelimit.Props) (tpl cdktest.Template) {
	t.Helper()
	if templates[name] == nil {
		text, err := json.Marshal(synth(t, props, nil))
		if err != nil {
			t.Fatal(err)
		}
		templates[name] = text
	}
	if err := json.Unmarshal(templates[name], &tpl); err != nil {
		t.Fatal(err)
	}
	return tpl
}

func build(t *testing.T, props ratelimit.Props, extend func(awscdk.Stack, *ratelimit.RateLimit)) awscdk.Stack {
	t.Helper()
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	props.Code = code(t)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &props)
	if err != nil {
		t.Fatal(err)
	}
	if extend == nil {
		extend = func(stack awscdk.Stack, limiter *ratelimit.RateLimit) { limiter.Protect(newAPI(stack)) }
	}
	extend(stack, limiter)
	return stack
}

func newAPI(stack awscdk.Stack) awsapigateway.RestApi {
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), &awsapigateway.RestApiProps{
		DefaultCorsPreflightOptions: &awsapigateway.CorsOptions{AllowOrigins: awsapigateway.Cors_ALL_ORIGINS()},
	})
	api.Root().AddMethod(jsii.String("GET"), nil, nil)
	return api
}

// code replaces a built authorizer: synthesis only hashes the directory.
func code(t *testing.T) awslambda.Code {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bootstrap"), []byte("not built\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return awslambda.Code_FromAsset(jsii.String(dir), nil)
}

func ref(id string) any { return map[string]any{"Ref": id} }

func arn(id string) any { return map[string]any{"Fn::GetAtt": []any{id, "Arn"}} }

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestRemoval: CloudFormation deletes a new table under some policies if the stack
// fails, so the rules table is not protected from the stack itself. What Retain
// does is in the golden template.
func TestRemoval(t *testing.T) {
	for removal, want := range map[awscdk.RemovalPolicy]string{
		awscdk.RemovalPolicy_DESTROY: "Delete", awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE: "RetainExceptOnCreate",
	} {
		tpl := synth(t, ratelimit.Props{RemovalPolicy: removal}, nil)
		for _, name := range []string{"RateLimitCounters", "RateLimitRules"} {
			table := tpl.One(t, "AWS::DynamoDB::Table", name)
			diff(t, "policy of "+name, want, table.DeletionPolicy)
			if table.Properties["DeletionProtectionEnabled"] == true {
				t.Errorf("%s: %s refuses the deletion that the stack asks for", removal, name)
			}
		}
		diff(t, "policy of the log", want, tpl.One(t, "AWS::Logs::LogGroup", "RateLimit").DeletionPolicy)
	}
}

// TestProps: what props change of the template, whose rest is in the golden one.
func TestProps(t *testing.T) {
	const counters, function, log = "AWS::DynamoDB::Table RateLimitCounters OnDemandThroughput", "AWS::Lambda::Function RateLimit ", "AWS::Logs::LogGroup RateLimit RetentionInDays"
	for _, tt := range []struct {
		props       ratelimit.Props
		where, want string
	}{
		{ratelimit.Props{MaxWriteRequestUnits: 500}, counters, "map[MaxWriteRequestUnits:500]"},
		{ratelimit.Props{MaxReadRequestUnits: 100, MaxWriteRequestUnits: 500}, counters, "map[MaxReadRequestUnits:100 MaxWriteRequestUnits:500]"},
		{ratelimit.Props{Architecture: awslambda.Architecture_X86_64()}, function + "Architectures", "[x86_64]"},
		{ratelimit.Props{Deadline: 1500 * time.Millisecond}, function + "Environment", "SLIDEGATE_DEADLINE:1.5s"},
		{ratelimit.Props{LogRetention: awslogs.RetentionDays_ONE_WEEK}, log, "7"},
	} {
		kind, rest, _ := strings.Cut(tt.where, " ")
		id, property, _ := strings.Cut(rest, " ")
		if got := fmt.Sprint(synth(t, tt.props, nil).One(t, kind, id).Properties[property]); !strings.Contains(got, tt.want) {
			t.Errorf("%s is %s, want %s", tt.where, got, tt.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	ratelimit.SetZip(lambdas.Zip)
	secret := awscdk.SecretValue_UnsafePlainText(jsii.String("0123456789abcdef"))
	environment := func(name string) *awslambda.FunctionOptions {
		return &awslambda.FunctionOptions{Environment: &map[string]*string{name: jsii.String("1")}}
	}
	hashed := rulesFile(t, "hash_secret: {env: SHOP_SECRET, check: \"7b5d1a0c\"}\n"+strings.Replace(someRules, "{ip}\"", "{ip}\", hash: true", 1))
	for _, tt := range []struct {
		props ratelimit.Props
		want  string
	}{
		{ratelimit.Props{Deadline: -time.Second}, "Deadline -1s is out of range"},
		{ratelimit.Props{Deadline: 5 * time.Second}, "Deadline 5s is out of range"},
		{ratelimit.Props{Deadline: 3 * time.Second,
			FunctionOptions: &awslambda.FunctionOptions{Timeout: awscdk.Duration_Seconds(jsii.Number(3))}}, "under the function's timeout of 3s"},
		{ratelimit.Props{MaxWriteRequestUnits: -1}, "nor MaxWriteRequestUnits -1 may be negative"},
		{ratelimit.Props{MaxReadRequestUnits: 1, CountersTable: givenTable()}, "set them on the CountersTable"},
		{ratelimit.Props{MaxWritesPerDay: -1}, "MaxWritesPerDay -1 may not be negative"},
		{ratelimit.Props{MaxWritesPerDay: 1, WithoutAlarms: true}, "leave them out, or WithoutAlarms"},
		{ratelimit.Props{MaxWritesPerDay: 1, WithoutMetrics: true}, "leave it out, or WithoutMetrics"},
		{ratelimit.Props{FunctionOptions: environment("SLIDEGATE_LIMITER")}, "by which alarms and dashboard find metrics: leave it out"},
		{ratelimit.Props{FunctionOptions: &awslambda.FunctionOptions{ApplicationLogLevelV2: awslambda.ApplicationLogLevel_WARN}},
			"log level WARN of FunctionOptions drops the lines with metrics"},
		{ratelimit.Props{FunctionOptions: &awslambda.FunctionOptions{Architecture: awslambda.Architecture_ARM_64()}},
			"FunctionOptions.Architecture has no effect here: set Props.Architecture"},
		{ratelimit.Props{FunctionOptions: environment("SLIDEGATE_DEADLINE")}, "the construct sets the variable SLIDEGATE_DEADLINE: use the prop Deadline"},
		{ratelimit.Props{FunctionOptions: environment("SLIDEGATE_SIMPLE_RESPONSES")}, "leave out SLIDEGATE_SIMPLE_RESPONSES"},
		{ratelimit.Props{Secrets: map[string]awscdk.SecretValue{"SLIDEGATE_RULES": secret}}, "use the prop RulesTable"},
		{ratelimit.Props{Secrets: map[string]awscdk.SecretValue{"shop-secret": secret}}, `the secret "shop-secret" has a name`},
		{ratelimit.Props{Secrets: map[string]awscdk.SecretValue{"SHOP": nil}}, "the secret SHOP is nil"},
		{ratelimit.Props{Secrets: map[string]awscdk.SecretValue{"SHOP": awscdk.SecretValue_SsmSecure(jsii.String("/shop"), nil)}},
			"the secret SHOP is a secure parameter of SSM, which CloudFormation gives to no function: use Secrets Manager"},
		{ratelimit.Props{Secrets: map[string]awscdk.SecretValue{"SHOP": secret}, FunctionOptions: environment("SHOP")},
			"the variable SHOP is in Secrets and in FunctionOptions.Environment"},
		{ratelimit.Props{Rules: hashed}, "the Rules read a secret from the variable SHOP_SECRET, which the authorizer lacks: add it to Secrets"},
		{ratelimit.Props{Settle: true, Secrets: map[string]awscdk.SecretValue{"SHOP": secret}},
			"there are no receipts for Decide and Settle without the variable SLIDEGATE_RECEIPT_SECRET: add it to Secrets"},
	} {
		tt.props.Code = code(t)
		refuses(t, &tt.props, tt.want)
	}
	ratelimit.SetZip(noZip)
	refuses(t, nil, lambdas.ErrNone.Error())
}

func noZip(string, string) ([]byte, error) { return nil, lambdas.ErrNone }

func givenTable() awsdynamodb.ITable {
	return awsdynamodb.Table_FromTableName(awscdk.NewStack(nil, jsii.String("Given"), nil), jsii.String("Table"), jsii.String("given"))
}

// refuses expects an error that names the construct, and nothing added.
func refuses(t *testing.T, props *ratelimit.Props, want string) {
	t.Helper()
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Test"), nil)
	_, err := ratelimit.New(stack, jsii.String("Limits"), props)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ratelimit Limits: ") {
		t.Errorf("error is %v, want the construct's name and %q", err, want)
	}
	if n := len(*stack.Node().Children()); n != 0 {
		t.Errorf("%d constructs were added all the same", n)
	}
}

func TestAuthorizer(t *testing.T) {
	tpl := plain(t)
	got := tpl.One(t, "AWS::ApiGateway::Authorizer", "Api").Properties
	delete(got, "Name")
	delete(got, "AuthorizerUri")
	// Compare all properties: with an identity source, the gateway itself would
	// answer 401 when the source is missing.
	diff(t, "authorizer", map[string]any{
		"Type":                         "REQUEST",
		"AuthorizerResultTtlInSeconds": 0.0,
		"RestApiId":                    ref(tpl.ID(t, "AWS::ApiGateway::RestApi", "Api")),
	}, got)
}

// TestGatewayResponses: a REST API gets each of the responses, whose literal names
// and expressions are in constructs/src/generated.ts.
func TestGatewayResponses(t *testing.T) {
	tpl := plain(t)
	want, got := map[string]any{}, map[string]any{}
	for _, response := range apigw.GatewayResponses() {
		headers := map[string]any{}
		for name, expression := range response.Headers {
			headers["gatewayresponse.header."+name] = expression
		}
		properties := map[string]any{"RestApiId": ref(tpl.ID(t, "AWS::ApiGateway::RestApi", "Api")), "ResponseType": response.Type, "ResponseParameters": headers}
		// A status of a family would become the status of every error in it.
		if response.Status != 0 {
			properties["StatusCode"] = fmt.Sprint(response.Status)
		}
		if response.Body != "" {
			properties["ResponseTemplates"] = map[string]any{"application/json": response.Body}
		}
		want[response.Type] = properties
	}
	for _, r := range tpl.Resources {
		if r.Type == "AWS::ApiGateway::GatewayResponse" {
			got[r.Properties["ResponseType"].(string)] = r.Properties
		}
	}
	diff(t, "gateway responses", want, got)
}

// A stage serves the gateway responses that existed at its deployment.
func TestDeploymentComesAfterGatewayResponses(t *testing.T) {
	tpl := plain(t)
	after := map[string]bool{}
	for _, id := range tpl.One(t, "AWS::ApiGateway::Deployment", "Api").DependsOn {
		after[id] = true
	}
	for id, r := range tpl.Resources {
		if r.Type == "AWS::ApiGateway::GatewayResponse" && !after[id] {
			t.Errorf("the deployment does not wait for %s", id)
		}
	}
}

// TestNag checks the limiter, and what Protect adds to an API of each kind, by
// the rules AwsSolutions of cdk-nag. The construct acknowledges what it does on
// purpose, with its reasons. Synthesis panics for anything else.
func TestNag(t *testing.T) {
	app, outdir := cdktest.NewApp(t, nil)
	awscdk.Validations_Of(app).AddPlugins(cdktest.Nag(t, app, ".."))
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code: code(t), OperationsCode: code(t), Rules: rulesFile(t, someRules),
		FunctionOptions: &awslambda.FunctionOptions{Vpc: awsec2.Vpc_FromVpcAttributes(stack, jsii.String("Vpc"), &awsec2.VpcAttributes{
			VpcId: jsii.String("vpc-0123456789abcdef0"), AvailabilityZones: jsii.Strings("a"), PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"),
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range []constructs.IConstruct{
		newAPI(stack),
		httpAPI(awscdk.NewStack(app, jsii.String("Http"), nil), awsapigatewayv2.HttpApiProps{}),
		webSocketAPI(awscdk.NewStack(app, jsii.String("WebSocket"), nil)),
	} {
		limiter.Protect(api)
		for _, rule := range []string{"APIG1", "APIG2", "APIG3", "APIG6",
			"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]"} {
			awscdk.Validations_Of(api).Acknowledge(&awscdk.Acknowledgment{
				Id:     jsii.String("AwsSolutions::AwsSolutions-" + rule),
				Reason: jsii.String("the logs, validation and firewall of an API are the app's, and Protect changes none"),
			})
		}
	}
	app.Synth(nil)
	data, err := os.ReadFile(filepath.Join(outdir, "validation-report.json"))
	if err != nil || !bytes.Contains(data, []byte("AwsSolutions")) {
		t.Errorf("the rules did not run: %s, error %v", data, err)
	}
}
