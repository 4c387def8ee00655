// Command lambda is a function behind an HTTP API with a JWT authorizer: each user
// gets 3 requests in any minute, over all instances of the function. It counts in
// the DynamoDB table that COUNTERS names.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/store/dynamostore"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{Name: "per-user", Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingWindow(3, time.Minute)}},
	}}, slidegate.WithStore(dynamostore.New(dynamodb.NewFromConfig(cfg), os.Getenv("COUNTERS"))),
		slidegate.WithDeadline(2*time.Second)) // the first call of a new instance connects
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(limitlambda.Wrap(g, hello))
}

func hello(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "hello\n"}, nil
}
