// Package awsconfig connects commands to DynamoDB and other services by the usual AWS variables and files.
// It links the SDK's clients for every way to sign in, which cost a Lambda a
// quarter of its start. So the authorizer uses dynamo.ConnectLambda instead.
package awsconfig

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// credentialTimeout bounds the search for credentials, which may run a
// sign-in or another program.
const credentialTimeout = 30 * time.Second

// Connect returns a client configured by the usual AWS variables and files. It
// fails as Load does; it does not call DynamoDB yet. now is time.Now.
func Connect(ctx context.Context, now func() time.Time) (*dynamo.Client, error) {
	cfg, err := Load(ctx)
	if err != nil {
		return nil, err
	}
	return dynamo.NewClient(dynamodb.NewFromConfig(cfg), now), nil
}

// Load reads the usual AWS variables and files. It fails with dynamo.ErrNoRegion,
// ErrNoCredentials or ErrCredentialsTimeout.
func Load(ctx context.Context) (aws.Config, error) {
	bounded, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	cfg, err := load(bounded)
	if err != nil {
		return cfg, err
	}
	if _, err := cfg.Credentials.Retrieve(bounded); err != nil {
		reason := dynamo.ErrNoCredentials
		if bounded.Err() != nil {
			reason = dynamo.ErrCredentialsTimeout
		}
		return cfg, fmt.Errorf("%w (%w)", reason, err)
	}
	return cfg, nil
}

// Region returns the region that Load reads. It needs no credentials.
func Region(ctx context.Context) (string, error) {
	cfg, err := load(ctx)
	return cfg.Region, err
}

// load reads all but the credentials.
func load(ctx context.Context) (aws.Config, error) {
	// The calls return every error, so the SDK's own log would only repeat
	// them.
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(dynamo.Transport()), config.WithLogger(logging.Nop{}))
	if err != nil {
		return cfg, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return cfg, dynamo.ErrNoRegion
	}
	return cfg, nil
}
