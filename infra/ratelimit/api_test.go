package ratelimit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

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

// TestGatewayResponses compares literal names and expressions. The gateway
// rejects wrong ones at deployment or, worse, sends them unexpanded.
func TestGatewayResponses(t *testing.T) {
	tpl := plain(t)
	cors := map[string]any{
		"gatewayresponse.header.Access-Control-Allow-Origin": "'*'",
		"gatewayresponse.header.Access-Control-Expose-Headers": "'RateLimit,RateLimit-Policy,Retry-After," +
			"X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset,X-RateLimit-Retry-After'",
	}
	denied := map[string]any{
		"gatewayresponse.header.Content-Type":            "'application/problem+json'",
		"gatewayresponse.header.RateLimit":               "context.authorizer.rateLimit",
		"gatewayresponse.header.RateLimit-Policy":        "context.authorizer.rateLimitPolicy",
		"gatewayresponse.header.Retry-After":             "context.authorizer.retryAfter",
		"gatewayresponse.header.X-RateLimit-Limit":       "context.authorizer.xRateLimitLimit",
		"gatewayresponse.header.X-RateLimit-Remaining":   "context.authorizer.xRateLimitRemaining",
		"gatewayresponse.header.X-RateLimit-Reset":       "context.authorizer.xRateLimitReset",
		"gatewayresponse.header.X-RateLimit-Retry-After": "context.authorizer.xRateLimitRetryAfter",
	}
	for name, expression := range cors {
		denied[name] = expression
	}
	unauthorized := map[string]any{"gatewayresponse.header.WWW-Authenticate": `'Bearer error="invalid_token"'`}
	for name, expression := range cors {
		unauthorized[name] = expression
	}
	body := `{"type":"$context.authorizer.problemType","title":"$context.authorizer.problemTitle","status":429,` +
		`"violated-policies":["$context.authorizer.rule"]}`
	api := ref(tpl.ID(t, "AWS::ApiGateway::RestApi", "Api"))
	want := map[string]any{
		"ACCESS_DENIED": map[string]any{
			"RestApiId": api, "ResponseType": "ACCESS_DENIED", "StatusCode": "429",
			"ResponseParameters": denied, "ResponseTemplates": map[string]any{"application/json": body},
		},
		"UNAUTHORIZED": map[string]any{
			"RestApiId": api, "ResponseType": "UNAUTHORIZED", "StatusCode": "401", "ResponseParameters": unauthorized,
		},
		// A status here would become the status of every error of its family.
		"DEFAULT_4XX": map[string]any{"RestApiId": api, "ResponseType": "DEFAULT_4XX", "ResponseParameters": cors},
		"DEFAULT_5XX": map[string]any{"RestApiId": api, "ResponseType": "DEFAULT_5XX", "ResponseParameters": cors},
	}
	got := map[string]any{}
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

// TestSettle: a backend may update counters and do nothing else, and both kinds of
// HTTP integrations hand the receipt on. Denials of HTTP APIs are passed on.
func TestSettle(t *testing.T) {
	tpl := synth(t, ratelimit.Props{PassDenials: true}, func(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
		server := awsiam.NewRole(stack, jsii.String("Server"), &awsiam.RoleProps{
			AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), nil),
		})
		limiter.GrantSettle(server)
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
	policy := tpl.One(t, "AWS::IAM::Policy", "Server").Properties
	diff(t, "policy of the server", []any{map[string]any{
		"Effect": "Allow", "Action": "dynamodb:UpdateItem", "Resource": arn(tpl.ID(t, "AWS::DynamoDB::Table", "RateLimitCounters")),
	}}, policy["PolicyDocument"].(map[string]any)["Statement"].([]any))

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
	definition["x-amazon-apigateway-gateway-responses"] = object{"DEFAULT_5XX": object{"responseParameters": object{"gatewayresponse.header.X": "'1'"}}}
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
	if denied, ok := responses["ACCESS_DENIED"].(object); len(responses) != 4 || !ok || denied["statusCode"] != "429" {
		t.Errorf("the gateway responses are %v", responses)
	}
	diff(t, "the app's response", object{"responseParameters": object{"gatewayresponse.header.X": "'1'"}}, responses["DEFAULT_5XX"].(object))
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
