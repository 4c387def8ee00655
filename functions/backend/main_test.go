package main

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

func TestHandle(t *testing.T) {
	cors := map[string]string{
		"Content-Type":                  "application/json",
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "RateLimit,RateLimit-Policy,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset",
	}
	with := func(fields map[string]string) map[string]string {
		for name, value := range cors {
			fields[name] = value
		}
		return fields
	}
	tests := []struct {
		name string
		// event is what API Gateway sends, cut to what the backend reads.
		event   string
		headers map[string]string
		body    string
	}{
		{
			"a limited request",
			`{"httpMethod":"GET","path":"/v1/items/7","requestContext":{"authorizer":{"principalId":"slidegate","allowed":"true",
			  "rule":"per-user","xRateLimitLimit":"100","xRateLimitRemaining":"50","xRateLimitReset":"30","rateLimit":"\"per-user\";r=50;t=30","rateLimitPolicy":"\"per-user\";q=100;w=60"}}}`,
			with(map[string]string{
				"RateLimit":             `"per-user";r=50;t=30`,
				"RateLimit-Policy":      `"per-user";q=100;w=60`,
				"X-RateLimit-Limit":     "100",
				"X-RateLimit-Remaining": "50",
				"X-RateLimit-Reset":     "30",
			}),
			`{"method":"GET","path":"/v1/items/7","authorizer":{"principalId":"slidegate","allowed":"true","rule":"per-user","xRateLimitLimit":"100",
			  "xRateLimitRemaining":"50","xRateLimitReset":"30","rateLimit":"\"per-user\";r=50;t=30","rateLimitPolicy":"\"per-user\";q=100;w=60"}}`,
		},
		{
			"a request that no rule covers",
			`{"httpMethod":"POST","path":"/","requestContext":{"authorizer":{"allowed":"true","rateLimit":""}}}`,
			with(map[string]string{}),
			`{"method":"POST","path":"/","authorizer":{"allowed":"true","rateLimit":""}}`,
		},
		{
			"no authorizer in front",
			`{"httpMethod":"GET","path":"/"}`,
			with(map[string]string{}),
			`{"method":"GET","path":"/","authorizer":null}`,
		},
		{
			"a context value that is no string",
			`{"httpMethod":"GET","path":"/","requestContext":{"authorizer":{"limit":100}}}`,
			with(map[string]string{}),
			`{"method":"GET","path":"/","authorizer":{"limit":100}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var event events.APIGatewayProxyRequest
			decode(t, tt.event, &event)
			got, err := handle(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			if got.StatusCode != 200 {
				t.Errorf("status is %d, want 200", got.StatusCode)
			}
			if d := cmp.Diff(tt.headers, got.Headers); d != "" {
				t.Errorf("headers (-want +got):\n%s", d)
			}
			var want, body any
			decode(t, tt.body, &want)
			decode(t, got.Body, &body)
			if d := cmp.Diff(want, body); d != "" {
				t.Errorf("body (-want +got):\n%s", d)
			}
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
}
