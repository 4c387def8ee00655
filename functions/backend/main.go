// Command backend is a sample API behind the authorizer. It echoes each request
// with its decision. limitlambda.Behind does the rest: it adds the fields of limits
// to the answer, because API Gateway adds none, answers requests that an HTTP API
// has passed on although they are denied, and settles.
//
// It stands behind APIs of several kinds. A function behind one kind needs no more
// than lambda.Start(limitlambda.Behind(store, handler)).
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	_ "time/tzdata" // receipts may name windows by the calendar of a time zone

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/store/dynamostore"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Error("backend cannot start", "error", err)
		os.Exit(1)
	}
	counters := dynamostore.New(dynamodb.NewFromConfig(cfg), os.Getenv("SLIDEGATE_COUNTERS"), dynamostore.WithLogger(log))
	lambda.Start(newBackend(counters, slidegate.WithLogger(log)))
}

type answer = events.APIGatewayProxyResponse

// newBackend returns a handler of events of every kind. It settles in the
// authorizer's counters.
func newBackend(counters slidegate.Store, options ...limithttp.SettleOption) func(context.Context, json.RawMessage) (answer, error) {
	restAPI := limitlambda.Behind(counters, func(_ context.Context, ev events.APIGatewayProxyRequest) (answer, error) {
		return answerTo(echo{ev.HTTPMethod, ev.Path, ev.RequestContext.Authorizer}, ev.QueryStringParameters)
	}, options...)
	httpAPI := limitlambda.Behind(counters, func(_ context.Context, ev events.APIGatewayV2HTTPRequest) (answer, error) {
		return answerTo(echo{ev.RequestContext.HTTP.Method, ev.RawPath, ev.RequestContext.Authorizer}, ev.QueryStringParameters)
	}, options...)
	webSocket := limitlambda.Behind(counters, func(_ context.Context, ev events.APIGatewayWebsocketProxyRequest) (answer, error) {
		return answerTo(echo{ev.RequestContext.EventType, "/", ev.RequestContext.Authorizer}, nil)
	}, options...)
	return func(ctx context.Context, event json.RawMessage) (answer, error) {
		var marks struct {
			Version        string
			RequestContext struct{ ConnectionID string }
		}
		if err := json.Unmarshal(event, &marks); err != nil {
			return answer{}, fmt.Errorf("read the event: %w", err)
		}
		switch {
		case marks.Version == "2.0":
			return call(ctx, event, httpAPI)
		case marks.RequestContext.ConnectionID != "":
			return call(ctx, event, webSocket)
		}
		return call(ctx, event, restAPI)
	}
}

func call[E limitlambda.Event](ctx context.Context, event json.RawMessage, handler limitlambda.Handler[E, answer]) (answer, error) {
	var ev E
	if err := json.Unmarshal(event, &ev); err != nil {
		return answer{}, fmt.Errorf("read the event: %w", err)
	}
	return handler(ctx, ev)
}

type echo struct {
	Method     string `json:"method"`
	Path       string `json:"path"`
	Authorizer any    `json:"authorizer"`
}

// answerTo answers as the query says: with a status, 200 by default, and at a cost
// of the limit that it names. Scripts of every origin may read the answer.
func answerTo(e echo, query map[string]string) (answer, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return answer{}, fmt.Errorf("encode the echo: %w", err)
	}
	status, _ := strconv.Atoi(query["status"])
	a := answer{StatusCode: cmp.Or(status, http.StatusOK), Body: string(body), Headers: map[string]string{
		"Content-Type": "application/json", "Access-Control-Allow-Origin": "*",
	}}
	if units := query["cost"]; units != "" {
		a.Headers["Slidegate-Cost"] = query["limit"] + "=" + units
	}
	return a, nil
}
