package dynamo

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
)

// ConnectLambda returns a client configured by the variables that a Lambda has:
// AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. It
// also follows AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, and
// AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT if they are "true". It
// fails with ErrNoRegion or ErrNoCredentials; it does not call DynamoDB yet.
// getenv is os.Getenv, and now is time.Now.
func ConnectLambda(getenv func(string) string, now func() time.Time) (*Client, error) {
	credentials := aws.Credentials{
		AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: getenv("AWS_SESSION_TOKEN"), Source: "Lambda",
	}
	options := dynamodb.Options{
		Region: getenv("AWS_REGION"), HTTPClient: Transport(), Logger: logging.Nop{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
	}
	switch {
	case options.Region == "":
		return nil, ErrNoRegion
	case !credentials.HasKeys():
		return nil, ErrNoCredentials
	}
	if endpoint := cmp.Or(getenv("AWS_ENDPOINT_URL_DYNAMODB"), getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		options.BaseEndpoint = &endpoint
	}
	if getenv("AWS_USE_FIPS_ENDPOINT") == "true" {
		options.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateEnabled
	}
	if getenv("AWS_USE_DUALSTACK_ENDPOINT") == "true" {
		options.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateEnabled
	}
	return NewClient(dynamodb.New(options), now), nil
}
