// Command backend is a sample API behind the authorizer. It echoes each request
// with its decision, and shows what a backend does with that: it adds the
// decision's fields to its answer, because API Gateway adds none, answers requests
// that an HTTP API has passed on although they are denied, and settles.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"strconv"
	"time"
	_ "time/tzdata" // receipts may name windows by the calendar of a time zone

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/receipt"
	"github.com/slidegate/slidegate/internal/recorder"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	b, err := newBackend(context.Background(), os.Getenv("SLIDEGATE_COUNTERS"), log)
	if err != nil {
		log.Error("backend cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(b.handle)
}

type backend struct {
	settler *receipt.Settler // nil without a table
	now     func() time.Time
	log     *slog.Logger
}

// newBackend returns a backend that settles in a table of counters; "" for none.
func newBackend(ctx context.Context, counters string, log *slog.Logger) (*backend, error) {
	b := &backend{log: log}
	if counters == "" {
		return b, nil
	}
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	b.now = client.Clock.Now
	store := dynamo.New(client, counters, dynamo.Options{Wall: b.now})
	b.settler = receipt.NewSettler(store, nil, recorder.New(log))
	return b, nil
}

// request is what the backend reads of an event: of a REST API, or of an HTTP API
// with payload version 1.0 or 2.0.
type request struct {
	HTTPMethod string            `json:"httpMethod"`
	Path       string            `json:"path"`
	RawPath    string            `json:"rawPath"`
	Query      map[string]string `json:"queryStringParameters"`
	Context    struct {
		Authorizer map[string]any                `json:"authorizer"`
		HTTP       struct{ Method, Path string } `json:"http"`
	} `json:"requestContext"`
}

// decision returns the authorizer's context.
func (r *request) decision() map[string]any {
	if inner, ok := r.Context.Authorizer["lambda"].(map[string]any); ok {
		return inner
	}
	return r.Context.Authorizer
}

type echo struct {
	Method     string         `json:"method"`
	Path       string         `json:"path"`
	Authorizer map[string]any `json:"authorizer"`
}

func (b *backend) handle(ctx context.Context, r request) (events.APIGatewayProxyResponse, error) {
	decision := r.decision()
	if denial, fields, denied := apigw.DenialOf(decision); denied {
		return events.APIGatewayProxyResponse{StatusCode: denial.Status, Headers: fields, Body: denial.Body}, nil
	}
	body, err := json.Marshal(echo{
		cmp.Or(r.HTTPMethod, r.Context.HTTP.Method), cmp.Or(r.Path, r.RawPath), r.Context.Authorizer,
	})
	if err != nil {
		return events.APIGatewayProxyResponse{}, fmt.Errorf("encode the echo: %w", err)
	}
	o := outcomeOf(r.Query)
	b.settle(ctx, decision, o)
	return events.APIGatewayProxyResponse{StatusCode: o.Status, Headers: headers(decision), Body: string(body)}, nil
}

// outcomeOf answers as the query says: with a status, 200 by default, and at a
// cost of the limit that it names.
func outcomeOf(query map[string]string) *engine.Outcome {
	o := &engine.Outcome{Status: http.StatusOK}
	if status, err := strconv.Atoi(query["status"]); err == nil {
		o.Status = status
	}
	if units, err := strconv.ParseInt(query["cost"], 10, 64); err == nil {
		o.Costs = map[string]int64{query["limit"]: units}
	}
	return o
}

// settle corrects the charge by the authorizer's receipt, if there is one.
func (b *backend) settle(ctx context.Context, decision map[string]any, o *engine.Outcome) {
	text, _ := decision[receipt.ContextName].(string)
	if text == "" || b.settler == nil {
		return
	}
	taken, err := b.settler.Take(text)
	if err != nil {
		b.log.WarnContext(ctx, "a receipt is refused: the request stays charged as it was", "error", err)
		return
	}
	b.settler.Finish(ctx, b.now(), taken, o)
}

// headers lets scripts of every origin read the answer, as the gateway's own
// answers do.
func headers(decision map[string]any) map[string]string {
	h := apigw.AllowedFields(decision)
	maps.Copy(h, map[string]string{
		"Content-Type":                  "application/json",
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Expose-Headers": "RateLimit,RateLimit-Policy,X-RateLimit-Limit,X-RateLimit-Remaining,X-RateLimit-Reset",
	})
	return h
}
