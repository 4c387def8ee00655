// Command operations is the Lambda for what a stack does besides deciding
// requests. The function's handler chooses what that is:
//
//	publish  answers a custom resource of CloudFormation: publishes a rules file
//	decide   answers programs that invoke it: decisions, and usage
//	settle   answers programs that invoke it: settlements, and renewals
//
// Package internal/decide/api documents what decide and settle take and answer. Their
// environment is that of functions/authorizer, and SLIDEGATE_RECEIPT_SECRET is
// required. The role of decide needs dynamodb:GetItem and dynamodb:UpdateItem on
// the counters, and dynamodb:GetItem on the rules. That of settle needs the counters
// alone.
//
// infra/ratelimit makes the functions and the custom resource.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slidegate/slidegate/internal/assemble/inlambda"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

func main() {
	inlambda.CollectLess(os.Getenv)
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log) // of package cfn too
	handler, err := build(context.Background(), os.Getenv("_HANDLER"), log)
	if err != nil {
		log.Error("operations cannot start", "error", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(handler, options(handler)...)
}

// handlers are the functions of this Lambda by their handlers' names. Each
// returns what lambda.Start takes.
var handlers = map[string]func(context.Context, *slog.Logger) (any, error){
	"publish": func(ctx context.Context, log *slog.Logger) (any, error) {
		p, err := newPublisher(ctx, log)
		return cfn.LambdaWrap(p.handle), err
	},
	"decide": newDecider,
	"settle": newSettler,
}

func build(ctx context.Context, name string, log *slog.Logger) (any, error) {
	newHandler, ok := handlers[name]
	if !ok {
		return nil, fmt.Errorf("the function's handler is %q: set it to one of %s", name, strings.Join(slices.Sorted(maps.Keys(handlers)), ", "))
	}
	return newHandler(ctx, log)
}

// newPublisher returns a publisher of the environment's AWS. Its client of
// DynamoDB repeats failed calls, as that of limiters does not: one that fails
// fails the deployment, or worse, its rollback.
func newPublisher(ctx context.Context, log *slog.Logger) (p publisher, err error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return p, err
	}
	client := dynamodb.NewFromConfig(cfg)
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil // an emulator has no host name for each bucket
	})
	return publisher{
		table:   func(name string) *ruletable.Table { return ruletable.New(client, name) },
		objects: objects, stacks: cloudformation.NewFromConfig(cfg),
		now: time.Now, log: log,
	}, nil
}
