package ratelimit_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

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
