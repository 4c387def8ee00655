// Package aws deploys the limiter to an AWS account by a CloudFormation stack,
// and finds the tables of a deployed one.
package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slidegate/slidegate/internal/dynamo/awsconfig"
)

// CloudFormation is what this package calls of AWS CloudFormation.
type CloudFormation interface {
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
}

// Account is one region of an AWS account.
type Account struct {
	CloudFormation CloudFormation
	Region         string
}

// Connect returns the account of the usual AWS variables and files. It calls
// nothing yet.
func Connect(ctx context.Context) (*Account, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	return newAccount(cfg), nil
}

func newAccount(cfg aws.Config) *Account {
	return &Account{CloudFormation: cloudformation.NewFromConfig(cfg), Region: cfg.Region}
}
