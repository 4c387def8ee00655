// Command hello is the yardstick of tools/bench: the Lambda authorizer of an
// HTTP API that loads the default AWS configuration, and makes one UpdateItem
// for each event. It limits nothing.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
	client, table := dynamodb.NewFromConfig(cfg), os.Getenv("SLIDEGATE_COUNTERS")
	lambda.Start(func(
		ctx context.Context, ev events.APIGatewayV2CustomAuthorizerV2Request,
	) (answer events.APIGatewayV2CustomAuthorizerSimpleResponse, err error) {
		out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 &table,
			Key:                       map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: ev.RequestContext.HTTP.SourceIP}},
			UpdateExpression:          aws.String("ADD n :1"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":1": &types.AttributeValueMemberN{Value: "1"}},
			ReturnValues:              types.ReturnValueAllNew,
		})
		if err != nil {
			return answer, err
		}
		answer.IsAuthorized = true
		answer.Context = map[string]any{"count": out.Attributes["n"].(*types.AttributeValueMemberN).Value}
		return answer, nil
	})
}
