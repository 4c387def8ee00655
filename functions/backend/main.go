// Command backend is a sample API behind the authorizer. It echoes each request
// with its decision, and shows how a backend adds the decision's fields to its
// answer: API Gateway adds none to the answer of a Lambda proxy.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(handle) }

// fields maps response fields to the names of their values in the authorizer's
// context.
var fields = map[string]string{
	"RateLimit":             "rateLimit",
	"RateLimit-Policy":      "rateLimitPolicy",
	"X-RateLimit-Limit":     "xRateLimitLimit",
	"X-RateLimit-Remaining": "xRateLimitRemaining",
	"X-RateLimit-Reset":     "xRateLimitReset",
}

type echo struct {
	Method     string         `json:"method"`
	Path       string         `json:"path"`
	Authorizer map[string]any `json:"authorizer"`
}

func handle(_ context.Context, request events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	decision := request.RequestContext.Authorizer
	body, err := json.Marshal(echo{request.HTTPMethod, request.Path, decision})
	if err != nil {
		return events.APIGatewayProxyResponse{}, fmt.Errorf("encode the echo: %w", err)
	}
	return events.APIGatewayProxyResponse{StatusCode: http.StatusOK, Headers: headers(decision), Body: string(body)}, nil
}

// headers lets scripts of every origin read the answer, as the gateway's own
// answers do.
func headers(decision map[string]any) map[string]string {
	h := map[string]string{
		"Content-Type":                  "application/json",
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "RateLimit,RateLimit-Policy,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset",
	}
	for field, name := range fields {
		if value, ok := decision[name].(string); ok && value != "" {
			h[field] = value
		}
	}
	return h
}
