package ratelimit_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

func TestAuthorizer(t *testing.T) {
	tpl := synth(t, ratelimit.Props{}, nil)
	got := tpl.One(t, "AWS::ApiGateway::Authorizer", "RateLimit").Properties
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
	tpl := synth(t, ratelimit.Props{}, nil)
	cors := map[string]any{
		"gatewayresponse.header.Access-Control-Allow-Origin": "'*'",
		"gatewayresponse.header.Access-Control-Expose-Headers": "'RateLimit,RateLimit-Policy,Retry-After," +
			"X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Retry-After'",
	}
	denied := map[string]any{
		"gatewayresponse.header.Content-Type":            "'application/problem+json'",
		"gatewayresponse.header.RateLimit":               "context.authorizer.rateLimit",
		"gatewayresponse.header.RateLimit-Policy":        "context.authorizer.rateLimitPolicy",
		"gatewayresponse.header.Retry-After":             "context.authorizer.retryAfter",
		"gatewayresponse.header.X-RateLimit-Limit":       "context.authorizer.limit",
		"gatewayresponse.header.X-RateLimit-Remaining":   "context.authorizer.remaining",
		"gatewayresponse.header.X-RateLimit-Retry-After": "context.authorizer.retryAfter",
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
	tpl := synth(t, ratelimit.Props{}, nil)
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

func TestEveryMethodButOPTIONSIsBehindTheAuthorizer(t *testing.T) {
	tpl := synth(t, ratelimit.Props{}, func(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
		api := newAPI(stack, limiter)
		limiter.Protect(api)
		// Added after Protect, one OPTIONS by hand and with the authorizer.
		items := api.Root().ResourceForPath(jsii.String("/v1/items/{id}"))
		for _, method := range []string{"ANY", "GET", "POST", "DELETE"} {
			items.AddMethod(jsii.String(method), nil, nil)
		}
		v2 := api.Root().AddResource(jsii.String("v2"), nil)
		v2.Node().TryRemoveChild(jsii.String("OPTIONS")) // CDK's own
		v2.AddMethod(jsii.String("OPTIONS"), nil, limiter.MethodOptions())
	})
	authorizer := ref(tpl.ID(t, "AWS::ApiGateway::Authorizer", "RateLimit"))
	methods := map[string]int{}
	for id, r := range tpl.Resources {
		if r.Type != "AWS::ApiGateway::Method" {
			continue
		}
		method := r.Properties["HttpMethod"].(string)
		methods[method]++
		kind, attached := r.Properties["AuthorizationType"], r.Properties["AuthorizerId"]
		if method == "OPTIONS" {
			diff(t, id, []any{"NONE", nil}, []any{kind, attached})
			continue
		}
		diff(t, id, []any{"CUSTOM", authorizer}, []any{kind, attached})
	}
	diff(t, "methods seen", map[string]int{"OPTIONS": 5, "ANY": 1, "GET": 2, "POST": 1, "DELETE": 1}, methods)
}

// TestOtherAuthorizersStay: Protect keeps another authorizer on OPTIONS.
func TestOtherAuthorizersStay(t *testing.T) {
	tpl := synth(t, ratelimit.Props{}, func(stack awscdk.Stack, limiter *ratelimit.RateLimit) {
		api := awsapigateway.NewRestApi(stack, jsii.String("Api"), &awsapigateway.RestApiProps{DefaultMethodOptions: limiter.MethodOptions()})
		limiter.Protect(api)
		api.Root().AddMethod(jsii.String("GET"), nil, nil)
		api.Root().AddMethod(jsii.String("OPTIONS"), nil, &awsapigateway.MethodOptions{
			AuthorizationType: awsapigateway.AuthorizationType_CUSTOM,
			Authorizer: awsapigateway.NewTokenAuthorizer(stack, jsii.String("Other"), &awsapigateway.TokenAuthorizerProps{
				Handler: limiter.Function,
			}),
		})
	})
	options := tpl.One(t, "AWS::ApiGateway::Method", "ApiOPTIONS").Properties
	diff(t, "authorizer of OPTIONS", ref(tpl.ID(t, "AWS::ApiGateway::Authorizer", "Other")), options["AuthorizerId"])
}
