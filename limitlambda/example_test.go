package limitlambda_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulestable"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/store/dynamostore"
)

func hello(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "hello"}, nil
}

// A function behind an HTTP API decides by published rules, as the authorizer does.
func Example() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg)
	g, err := gate.New(rulestable.Open(client, "rules"), slidegate.WithStore(dynamostore.New(client, "counters")))
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(limitlambda.Wrap(g, hello))
}

// Slidegate's authorizer decides in front of the function.
func ExampleBehind() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	client := dynamodb.NewFromConfig(cfg)
	lambda.Start(limitlambda.Behind(dynamostore.New(client, "counters"), hello))
}

func ExampleWrap() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{Name: "per-user", Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingLog(1, time.Minute)}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	handler := limitlambda.Wrap(g, hello)

	for range 2 {
		answer, err := handler(context.Background(), itemsOf("7"))
		fmt.Println(answer.StatusCode, answer.Headers["RateLimit"], err)
	}
	// Output:
	// 200 "per-user";r=0;t=60 <nil>
	// 429 "per-user";r=0;t=60 <nil>
}

// itemsOf returns the event of a request by a user whose token the API's JWT
// authorizer has verified.
func itemsOf(user string) (ev events.APIGatewayV2HTTPRequest) {
	ev.RouteKey, ev.RawPath = "GET /items", "/items"
	ev.RequestContext.HTTP.Method, ev.RequestContext.HTTP.SourceIP = "GET", "203.0.113.9"
	ev.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": user}},
	}
	return ev
}

// The handler gets one message of each tenant, and the other goes back.
func ExampleWrapSQS() {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{Name: "per-tenant", Key: "tenant:{header.tenant}", Limits: []slidegate.Limit{slidegate.SlidingLog(1, time.Minute)}},
		{Name: "all", Key: "all", Limits: []slidegate.Limit{slidegate.SlidingLog(1000, time.Minute)}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	work := func(_ context.Context, ev events.SQSEvent) (events.SQSEventResponse, error) {
		fmt.Println("works on", len(ev.Records), "messages")
		return events.SQSEventResponse{}, nil
	}
	handler := limitlambda.WrapSQS(g, work, limitlambda.WithHide(func(_ context.Context, m events.SQSMessage, seconds int32) {
		fmt.Println("hides", m.MessageId, "for", seconds, "s")
	}))

	answer, err := handler(context.Background(), batch("1", "2"))
	fmt.Println(answer.BatchItemFailures, err)
	// Output:
	// hides 2 for 60 s
	// works on 1 messages
	// [{2}] <nil>
}
