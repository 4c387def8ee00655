package ratelimit_test

import (
	"testing"
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
