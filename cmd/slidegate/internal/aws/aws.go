// Package aws deploys the limiter to an AWS account by a CloudFormation stack,
// and finds the tables of a deployed one.
package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

// CloudFormation has the calls of AWS CloudFormation that this package makes.
type CloudFormation interface {
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
	DescribeStackEvents(context.Context, *cloudformation.DescribeStackEventsInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackEventsOutput, error)
	DescribeStackResources(context.Context, *cloudformation.DescribeStackResourcesInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackResourcesOutput, error)
	CreateStack(context.Context, *cloudformation.CreateStackInput, ...func(*cloudformation.Options)) (*cloudformation.CreateStackOutput, error)
	UpdateStack(context.Context, *cloudformation.UpdateStackInput, ...func(*cloudformation.Options)) (*cloudformation.UpdateStackOutput, error)
	DeleteStack(context.Context, *cloudformation.DeleteStackInput, ...func(*cloudformation.Options)) (*cloudformation.DeleteStackOutput, error)
}

// S3 has the calls of Amazon S3 that this package makes.
type S3 interface {
	HeadBucket(context.Context, *s3.HeadBucketInput, ...func(*s3.Options)) (*s3.HeadBucketOutput, error)
	CreateBucket(context.Context, *s3.CreateBucketInput, ...func(*s3.Options)) (*s3.CreateBucketOutput, error)
	DeleteBucket(context.Context, *s3.DeleteBucketInput, ...func(*s3.Options)) (*s3.DeleteBucketOutput, error)
	PutBucketPolicy(context.Context, *s3.PutBucketPolicyInput, ...func(*s3.Options)) (*s3.PutBucketPolicyOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// STS has the calls of the AWS Security Token Service that this package makes.
type STS interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// Account is one region of an AWS account.
type Account struct {
	CloudFormation CloudFormation
	S3             S3
	Functions      interface { // the calls of AWS Lambda that this package makes
		GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	}
	STS    STS
	Region string
	// Attached returns what a rules table keeps of attached APIs: API-ID/STAGE of each.
	Attached func(ctx context.Context, rulesTable string) ([]string, error)
	Local    bool // whether CloudFormation is an emulator on this machine

	// Wait waits for so long, or fails once the context ends.
	Wait func(context.Context, time.Duration) error
}

// Connect returns the account of the usual AWS variables and files. It calls
// nothing yet.
func Connect(ctx context.Context) (*Account, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	return New(cfg), nil
}

// New returns the account of a configuration.
func New(cfg aws.Config) *Account {
	stacks, tables := cloudformation.NewFromConfig(cfg), dynamodb.NewFromConfig(cfg)
	return &Account{
		CloudFormation: stacks,
		// An emulator has no host name for each bucket. Objects without a checksum are
		// no news: upload compares them.
		S3: s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.UsePathStyle, o.DisableLogOutputChecksumValidationSkipped = o.BaseEndpoint != nil, true
		}),
		Functions: lambda.NewFromConfig(cfg),
		Attached: func(ctx context.Context, table string) ([]string, error) {
			return ruletable.New(tables, table).Attached(ctx)
		},
		STS:    sts.NewFromConfig(cfg),
		Region: cfg.Region,
		Local:  IsLocal(stacks.Options().BaseEndpoint),
		Wait:   wait,
	}
}

// Region returns the region of the usual AWS variables and files. It needs no
// credentials.
func Region(ctx context.Context) (string, error) { return awsconfig.Region(ctx) }

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// account returns the twelve digits of the account whose credentials make the
// calls.
func (a *Account) account(ctx context.Context) (string, error) {
	answer, err := a.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", Explain(err)
	}
	return aws.ToString(answer.Account), nil
}

// IsLocal reports whether an endpoint is on this machine, as that of an emulator
// is. It takes nil for AWS itself.
func IsLocal(endpoint *string) bool {
	u, err := url.Parse(aws.ToString(endpoint))
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localstack.cloud" || net.ParseIP(host).IsLoopback()
}

// machines are the architectures of Lambda by those of Go.
var machines = map[string]string{"amd64": "x86_64", "arm64": "arm64"}

// architectureOf returns the architecture that is given, or else the stack's. A new
// stack is for arm64, unless a local AWS runs the Lambdas on this machine, or the
// command carries no code but that for this machine. Then the note says so.
func (a *Account) architectureOf(given string, old *types.Stack) (name, note string) {
	if name = cmp.Or(given, parameterOf(old, architecture)); name != "" {
		return name, ""
	}
	name = machines[runtime.GOARCH]
	_, err := embedded.Zip("authorizer", "arm64")
	_, lacks := errors.AsType[embedded.Lacks](err)
	switch {
	case name == "" || name == "arm64":
	case a.Local:
		return name, fmt.Sprintf("using architecture %s, because a local AWS runs Lambdas on this machine", name)
	case lacks:
		return name, fmt.Sprintf("using architecture %s, because this build of slidegate carries the Lambdas for it alone", name)
	}
	return "arm64", ""
}
