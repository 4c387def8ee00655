package ratelimit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

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
