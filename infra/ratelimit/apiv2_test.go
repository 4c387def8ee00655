package ratelimit_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
)

// TestWithoutREST: one limiter serves an HTTP API and a WebSocket API, and no
// REST API. Nothing caches its answers, and no identity source comes before it.
func TestWithoutREST(t *testing.T) {
	tpl := synth(t, ratelimit.Props{WithoutREST: true}, func(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
		awsapigatewayv2.NewHttpApi(stack, jsii.String("Http"), &awsapigatewayv2.HttpApiProps{
			DefaultAuthorizer:  limiter.HTTPAuthorizer(),
			DefaultIntegration: awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Backend"), jsii.String("https://backend.example"), nil),
		})
		awsapigatewayv2.NewWebSocketApi(stack, jsii.String("WebSocket"), &awsapigatewayv2.WebSocketApiProps{
			ConnectRouteOptions: &awsapigatewayv2.WebSocketRouteOptions{
				Authorizer:  limiter.WebSocketAuthorizer(),
				Integration: awsapigatewayv2integrations.NewWebSocketMockIntegration(jsii.String("Mock"), nil),
			},
		})
	})
	seen := map[string]cdktest.Resource{}
	routes := 0
	for _, r := range tpl.Resources {
		switch r.Type {
		case "AWS::ApiGateway::Authorizer", "AWS::ApiGateway::RestApi":
			t.Errorf("the stack has a %s", r.Type)
		case "AWS::ApiGatewayV2::Authorizer":
			kind := "WebSocket"
			if r.Properties["AuthorizerPayloadFormatVersion"] != nil {
				kind = "HTTP"
			}
			seen[kind] = r
		case "AWS::ApiGatewayV2::Route":
			routes++
			if r.Properties["AuthorizationType"] != "CUSTOM" || r.Properties["AuthorizerId"] == nil {
				t.Errorf("the route %v has no authorizer", r.Properties["RouteKey"])
			}
		}
	}
	if len(seen) != 2 || routes != 2 {
		t.Fatalf("authorizers %v, %d routes; want one for each API, and a route", seen, routes)
	}
	for kind, r := range seen {
		sources, ok := r.Properties["IdentitySource"].([]any)
		if r.Properties["AuthorizerType"] != "REQUEST" || !ok || len(sources) > 0 {
			t.Errorf("%s: type %v, identity sources %v; want REQUEST and an empty list", kind, r.Properties["AuthorizerType"], r.Properties["IdentitySource"])
		}
	}
	http := seen["HTTP"].Properties
	if http["AuthorizerPayloadFormatVersion"] != "2.0" || http["EnableSimpleResponses"] != true || http["AuthorizerResultTtlInSeconds"] != 0.0 {
		t.Errorf("the authorizer of the HTTP API is %v", http)
	}
}
