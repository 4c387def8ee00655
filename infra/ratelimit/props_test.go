package ratelimit_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

// TestNoProps: nil props are enough where the module has the zips. They are in
// the synthesized app, which needs nothing else.
func TestNoProps(t *testing.T) {
	for name, test := range map[string]struct {
		props *ratelimit.Props
		asked []string
	}{
		"authorizer": {nil, []string{"authorizer arm64"}},
		"both":       {&ratelimit.Props{Architecture: awslambda.Architecture_X86_64(), Rules: rulesFile(t, someRules)}, []string{"authorizer amd64", "operations amd64"}},
	} {
		var asked []string
		ratelimit.SetZip(func(name, goarch string) ([]byte, error) {
			asked = append(asked, name+" "+goarch)
			return []byte("zip of " + name), nil
		})
		app, outdir := cdktest.NewApp(t, nil)
		stack := awscdk.NewStack(app, jsii.String("Test"), nil)
		limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), test.props)
		if err != nil {
			t.Fatal(err)
		}
		limiter.Protect(newAPI(stack))
		key := cdktest.Synth(t, stack).One(t, "AWS::Lambda::Function", "RateLimitFunction").Properties["Code"].(object)["S3Key"].(string)
		data, err := os.ReadFile(filepath.Join(outdir, "asset."+key))
		if err != nil || string(data) != "zip of authorizer" {
			t.Errorf("%s: the asset is %q, error %v", name, data, err)
		}
		diff(t, "zips", test.asked, asked)
	}
}

// TestFunctionOptions: the app's options come through, and the construct's stay
// where the app has none.
func TestFunctionOptions(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	_, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code:       code(t),
		Standalone: true,
		Secrets: map[string]awscdk.SecretValue{
			"SLIDEGATE_RECEIPT_SECRET": awscdk.SecretValue_SecretsManager(jsii.String("shop"), nil),
			"ORIGIN_SECRET":            awscdk.SecretValue_CfnParameter(awscdk.NewCfnParameter(stack, jsii.String("Origin"), &awscdk.CfnParameterProps{NoEcho: jsii.Bool(true)})),
		},
		FunctionOptions: &awslambda.FunctionOptions{
			ReservedConcurrentExecutions: jsii.Number(7),
			MemorySize:                   jsii.Number(512),
			Timeout:                      awscdk.Duration_Seconds(jsii.Number(3)),
			Environment:                  &map[string]*string{"SHOP": jsii.String("1")},
			Vpc:                          awsec2.NewVpc(stack, jsii.String("Vpc"), nil),
			LoggingFormat:                awslambda.LoggingFormat_TEXT,
			LogGroup:                     awslogs.LogGroup_FromLogGroupName(stack, jsii.String("Log"), jsii.String("shop")),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	tpl := cdktest.Synth(t, stack)
	got := tpl.One(t, "AWS::Lambda::Function", "RateLimit").Properties
	for name, want := range map[string]any{
		"ReservedConcurrentExecutions": 7.0, "MemorySize": 512.0, "Timeout": 3.0, "Handler": "bootstrap",
		"LoggingConfig": object{"LogGroup": "shop", "LogFormat": "Text"},
	} {
		diff(t, name, want, got[name])
	}
	variables := got["Environment"].(object)["Variables"].(object)
	diff(t, "a variable", any("1"), variables["SHOP"])
	diff(t, "a secret", any("{{resolve:secretsmanager:shop:SecretString:::}}"), variables["SLIDEGATE_RECEIPT_SECRET"])
	diff(t, "a parameter", ref("Origin"), variables["ORIGIN_SECRET"])
	if got["VpcConfig"] == nil || len(tpl.One(t, "AWS::IAM::Role", "RateLimitRole").Properties["ManagedPolicyArns"].([]any)) != 1 {
		t.Error("the function is in no VPC, or its role may not make network interfaces")
	}
}

// TestGivenTables: the construct adds no table, and grants the use of the keys of
// those that it was given.
func TestGivenTables(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	key := awskms.NewKey(stack, jsii.String("Key"), nil)
	table := func(id string) awsdynamodb.ITable {
		return awsdynamodb.NewTable(stack, jsii.String(id), &awsdynamodb.TableProps{
			PartitionKey:  &awsdynamodb.Attribute{Name: jsii.String("k"), Type: awsdynamodb.AttributeType_STRING},
			EncryptionKey: key,
		})
	}
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code: code(t), Standalone: true, CountersTable: table("Mine"), RulesTable: table("Yours"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if *limiter.CountersTable.Node().Id() != "Mine" || *limiter.RulesTable.Node().Id() != "Yours" {
		t.Error("the construct's fields are not the given tables")
	}
	tpl := cdktest.Synth(t, stack)
	var services []string
	for _, s := range tpl.One(t, "AWS::IAM::Policy", "RateLimitRole").Properties["PolicyDocument"].(object)["Statement"].([]any) {
		service, _, _ := strings.Cut(strings.Trim(fmt.Sprint(s.(object)["Action"]), "["), ":")
		services = append(services, service)
	}
	diff(t, "services of the statements", []string{"logs", "dynamodb", "kms", "dynamodb", "kms"}, services)
	for id, r := range tpl.Resources {
		if r.Type == "AWS::DynamoDB::Table" && strings.HasPrefix(id, "RateLimit") {
			t.Errorf("the construct adds the table %s", id)
		}
	}
}

// TestOutputs: the names are fixed, and begin with the construct's id.
func TestOutputs(t *testing.T) {
	tpl := watched(t, ratelimit.Props{}, func(stack stackOf, l limiter) {
		l.Protect(newAPI(stack))
		if _, err := ratelimit.New(stack, jsii.String("by-day_2"), &ratelimit.Props{
			Code: code(t), OperationsCode: code(t), Rules: rulesFile(t, someRules), Standalone: true,
		}); err != nil {
			t.Fatal(err)
		}
	})
	for prefix, next := range map[string]string{"RateLimit": "apply rules.yaml", "byday2": "list"} {
		for name, want := range map[string]any{
			"CountersTable": ref(tpl.ID(t, "AWS::DynamoDB::Table", prefix+"Counters")),
			"RulesTable":    ref(tpl.ID(t, "AWS::DynamoDB::Table", prefix+"Rules")),
			"Function":      ref(tpl.ID(t, "AWS::Lambda::Function", prefix+"Function")),
			"Next":          joined("slidegate rules "+next+" --rules stack://", "AWS::StackName", "/"+prefix),
		} {
			diff(t, prefix+name, want, tpl.Outputs[prefix+name].Value)
		}
	}
}

// TestGrants lists what each grant permits.
func TestGrants(t *testing.T) {
	tests := []struct {
		name  string
		grant func(limiter, awsiam.IGrantable) awsiam.Grant
		stack bool // commands find the tables by the stack's outputs
		table string
		want  any
	}{
		{"GrantReadRules", limiter.GrantReadRules, true, "RateLimitRules", []any{"dynamodb:GetItem", "dynamodb:Query"}},
		{"GrantPublishRules", limiter.GrantPublishRules, true, "RateLimitRules", []any{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}},
		{"GrantReadCounters", limiter.GrantReadCounters, true, "RateLimitCounters", "dynamodb:GetItem"},
		{"GrantSettle", limiter.GrantSettle, false, "RateLimitCounters", "dynamodb:UpdateItem"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tpl := synth(t, ratelimit.Props{Standalone: true}, func(stack stackOf, l limiter) {
				tt.grant(l, awsiam.NewUser(stack, jsii.String("Person"), nil))
			})
			want := []any{object{"Effect": "Allow", "Action": tt.want, "Resource": arn(tpl.ID(t, "AWS::DynamoDB::Table", tt.table))}}
			if tt.stack {
				want = append([]any{object{"Effect": "Allow", "Action": "cloudformation:DescribeStacks", "Resource": joined(
					"arn:", "AWS::Partition", ":cloudformation:", "AWS::Region", ":", "AWS::AccountId", ":stack/Test/*")}}, want...)
			}
			diff(t, "statements", want, tpl.One(t, "AWS::IAM::Policy", "Person").Properties["PolicyDocument"].(object)["Statement"].([]any))
		})
	}
}

// TestGrantsOfFunctions: programs may invoke one function each, and update no
// counters. The functions are those of the template's golden file, without the
// environment that a settlement does not need.
func TestGrantsOfFunctions(t *testing.T) {
	props := ratelimit.Props{
		Standalone: true, Decide: true, Settle: true, OperationsCode: code(t),
		Secrets: map[string]awscdk.SecretValue{
			"SLIDEGATE_RECEIPT_SECRET": awscdk.SecretValue_UnsafePlainText(jsii.String("0123456789abcdef")),
			"SHOP_SECRET":              awscdk.SecretValue_UnsafePlainText(jsii.String("fedcba9876543210")),
		},
	}
	tpl := synth(t, props, func(stack stackOf, l limiter) {
		l.GrantDecide(awsiam.NewUser(stack, jsii.String("Asker"), nil))
		l.GrantSettle(awsiam.NewUser(stack, jsii.String("Payer"), nil))
	})
	for user, tt := range map[string]struct {
		function string
		shop     any
	}{"Asker": {"RateLimitDecide", "fedcba9876543210"}, "Payer": {"RateLimitSettle", nil}} {
		want := []any{object{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": arn(tpl.ID(t, "AWS::Lambda::Function", tt.function))}}
		diff(t, "statements of "+user, want, tpl.One(t, "AWS::IAM::Policy", user).Properties["PolicyDocument"].(object)["Statement"].([]any))
		env := tpl.One(t, "AWS::Lambda::Function", tt.function).Properties["Environment"].(object)["Variables"].(object)
		diff(t, "secrets of "+tt.function, []any{"0123456789abcdef", tt.shop}, []any{env["SLIDEGATE_RECEIPT_SECRET"], env["SHOP_SECRET"]})
		diff(t, "output of "+tt.function, any(ref(tpl.ID(t, "AWS::Lambda::Function", tt.function))), tpl.Outputs[tt.function+"Function"].Value)
	}
}

// TestGrantOverrides: a program changes overrides and adds to the history. It can
// neither publish rules nor delete history.
func TestGrantOverrides(t *testing.T) {
	tpl := synth(t, ratelimit.Props{Standalone: true}, func(stack stackOf, l limiter) {
		l.GrantOverrides(awsiam.NewUser(stack, jsii.String("Person"), nil))
	})
	rules := arn(tpl.ID(t, "AWS::DynamoDB::Table", "RateLimitRules"))
	allow := func(actions any, keys string) object {
		return object{"Effect": "Allow", "Action": actions, "Resource": rules,
			"Condition": object{"ForAllValues:StringLike": object{"dynamodb:LeadingKeys": keys}}}
	}
	diff(t, "statements", []any{
		object{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": rules},
		allow([]any{"dynamodb:PutItem", "dynamodb:DeleteItem"}, "override#*"), allow("dynamodb:PutItem", "history"),
	}, tpl.One(t, "AWS::IAM::Policy", "Person").Properties["PolicyDocument"].(object)["Statement"].([]any))
}

// TestSettle: both kinds of HTTP integrations hand the receipt on. Denials of HTTP
// APIs are passed on.
func TestSettle(t *testing.T) {
	tpl := synth(t, ratelimit.Props{PassDenials: true}, func(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
		api := newAPI(stack)
		api.Root().ResourceForPath(jsii.String("/server")).AddMethod(jsii.String("ANY"), awsapigateway.NewHttpIntegration(
			jsii.String("https://backend.example"), &awsapigateway.HttpIntegrationProps{
				Options: &awsapigateway.IntegrationOptions{RequestParameters: limiter.ReceiptParameters()},
			}), nil)
		limiter.Protect(api)
		awsapigatewayv2.NewHttpApi(stack, jsii.String("Http"), &awsapigatewayv2.HttpApiProps{
			DefaultIntegration: awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Backend"), jsii.String("https://backend.example"),
				&awsapigatewayv2integrations.HttpUrlIntegrationProps{ParameterMapping: limiter.ReceiptMapping()}),
		})
	})
	method := tpl.One(t, "AWS::ApiGateway::Method", "ApiserverANY").Properties
	diff(t, "mapping of the REST API", map[string]any{
		"integration.request.header.Slidegate-Receipt": "context.authorizer.receipt",
	}, method["Integration"].(map[string]any)["RequestParameters"].(map[string]any))

	integration := tpl.One(t, "AWS::ApiGatewayV2::Integration", "Http").Properties
	diff(t, "mapping of the HTTP API", map[string]any{
		"overwrite:header.Slidegate-Receipt": "$context.authorizer.receipt",
	}, integration["RequestParameters"].(map[string]any))

	variables := tpl.One(t, "AWS::Lambda::Function", "RateLimit").Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	diff(t, "denials", any("true"), variables["SLIDEGATE_PASS_DENIALS"])
}

type object = map[string]any

func specAPI(stack stackOf, definition object) awsapigateway.SpecRestApi {
	return awsapigateway.NewSpecRestApi(stack, jsii.String("Api"), &awsapigateway.SpecRestApiProps{
		ApiDefinition: awsapigateway.ApiDefinition_FromInline(definition),
	})
}

func spec(paths object) object {
	return object{"openapi": "3.0.1", "info": object{"title": "Shop", "version": "1"}, "paths": paths}
}

// TestDefinition: the authorizer is in the definition, whose import removes what
// other resources add.
func TestDefinition(t *testing.T) {
	definition := spec(object{"/items": object{
		"get":     object{"operationId": "list"},
		"post":    object{"security": []any{object{"key": []any{}}}},
		"options": object{},
	}})
	definition["components"] = object{"securitySchemes": object{"key": object{"type": "apiKey", "name": "x-api-key", "in": "header"}}}
	app := object{"responseParameters": object{"gatewayresponse.header.X": "'1'"}, "responseTemplates": object{"application/json": "{}"}}
	definition["x-amazon-apigateway-gateway-responses"] = object{"DEFAULT_5XX": app}
	tpl := synth(t, ratelimit.Props{}, func(stack stackOf, limiter limiter) { limiter.Protect(specAPI(stack, definition)) })
	body := tpl.One(t, "AWS::ApiGateway::RestApi", "Api").Properties["Body"].(object)

	diff(t, "operations", object{
		"get":     object{"operationId": "list", "security": []any{object{"Slidegate": []any{}}}},
		"post":    object{"security": []any{object{"key": []any{}, "Slidegate": []any{}}}},
		"options": object{},
	}, body["paths"].(object)["/items"].(object))
	scheme := body["components"].(object)["securitySchemes"].(object)["Slidegate"].(object)
	authorizer := scheme["x-amazon-apigateway-authorizer"].(object)
	if authorizer["type"] != "request" || authorizer["authorizerResultTtlInSeconds"] != 0.0 || authorizer["authorizerUri"] == nil || len(authorizer) != 3 {
		t.Errorf("the authorizer is %v", authorizer)
	}
	responses := body["x-amazon-apigateway-gateway-responses"].(object)
	if denied, ok := responses["ACCESS_DENIED"].(object); !ok || denied["statusCode"] != "429" {
		t.Errorf("the gateway responses are %v", responses)
	}
	diff(t, "gateway responses", []string{"ACCESS_DENIED", "DEFAULT_4XX", "DEFAULT_5XX", "QUOTA_EXCEEDED", "THROTTLED", "UNAUTHORIZED"}, slices.Sorted(maps.Keys(responses)))
	diff(t, "the app's response", app, responses["DEFAULT_5XX"].(object))
	for id, r := range tpl.Resources {
		if strings.HasPrefix(r.Type, "AWS::ApiGateway::Authorizer") || r.Type == "AWS::ApiGateway::GatewayResponse" {
			t.Errorf("the resource %s is removed by the next import", id)
		}
	}
}

func TestSwagger(t *testing.T) {
	definition := object{"swagger": "2.0", "paths": object{"/": object{"x-amazon-apigateway-any-method": object{}}}}
	tpl := synth(t, ratelimit.Props{}, func(stack stackOf, limiter limiter) { limiter.Protect(specAPI(stack, definition)) })
	body := tpl.One(t, "AWS::ApiGateway::RestApi", "Api").Properties["Body"].(object)
	if body["securityDefinitions"].(object)["Slidegate"] == nil || body["components"] != nil {
		t.Errorf("the definition is %v, want the authorizer in securityDefinitions", body)
	}
}

func TestDefinitionRefuses(t *testing.T) {
	cognito := spec(object{"/items": object{"get": object{}, "post": object{"security": []any{}}}})
	cognito["security"] = []any{object{"pool": []any{}}}
	cognito["components"] = object{"securitySchemes": object{"pool": object{"type": "apiKey", "x-amazon-apigateway-authtype": "cognito_user_pools"}}}
	iam := spec(object{"/items": object{"put": object{"x-amazon-apigateway-auth": object{"type": "AWS_IAM"}}}})
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		definition awsapigateway.ApiDefinition
		want       []string
	}{
		{"another authorizer", awsapigateway.ApiDefinition_FromInline(cognito), []string{"get /items: it has the authorizer pool", "limitlambda.Wrap"}},
		{"IAM", awsapigateway.ApiDefinition_FromInline(iam), []string{"put /items: it has authorization by AWS_IAM"}},
		{"a file", awsapigateway.ApiDefinition_FromAsset(&file, nil), []string{"the definition is not inline", "limiter.Function.AddPermission",
			`"x-amazon-apigateway-authorizer":{"authorizerResultTtlInSeconds":0,"authorizerUri":"arn:aws:apigateway:REGION:lambda`, `"ACCESS_DENIED":{`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stack := build(t, unwatched, func(stack stackOf, limiter limiter) {
				limiter.Protect(awsapigateway.NewSpecRestApi(stack, jsii.String("Api"), &awsapigateway.SpecRestApiProps{ApiDefinition: tt.definition}))
			})
			got := cdktest.Messages(t, stack, "error")
			for _, want := range tt.want {
				if len(got) != 1 || !strings.Contains(got[0], want) {
					t.Errorf("errors are %q, want one with %q", got, want)
				}
			}
		})
	}
}
