package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

// newStack returns the sample: a REST API with an echo backend, limited by the
// construct.
func newStack(app awscdk.App, id string, s settings) (awscdk.Stack, error) {
	stack := awscdk.NewStack(app, jsii.String(id), &awscdk.StackProps{
		Description: jsii.String("Slidegate sample: a rate-limited REST API"),
	})
	code := map[string]awslambda.Code{}
	for _, name := range []string{"authorizer", "operations", "backend"} {
		var err error
		if code[name], err = zip(s, name); err != nil {
			return nil, err
		}
	}
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code:           code["authorizer"],
		OperationsCode: code["operations"],
		Architecture:   s.architecture,
		Deadline:       s.deadline,
		PassDenials:    true, // the backend answers the denied requests of the HTTP API
		Rules:          s.rules,
		OnChangedRules: ratelimit.KeepChangedRules, // who tries the sample changes them by hand
		RemovalPolicy:  s.removal,
	})
	if err != nil {
		return nil, err
	}
	backend := newBackend(stack, limiter, code["backend"], s)
	api := newAPI(stack, limiter, backend)
	if s.allAPIs {
		addAPIs(stack, limiter, backend)
	}
	output(stack, "Url", "the API", api.Url())
	output(stack, "ApiId", "the API's id", api.RestApiId())
	return stack, nil
}

// zip returns the code of a Lambda, from a file that `make sample` writes. If the
// file is missing, the error says to run that.
func zip(s settings, name string) (awslambda.Code, error) {
	path, err := filepath.Abs(filepath.Join(s.dist, name+"_"+s.goarch+".zip"))
	if err != nil {
		return nil, fmt.Errorf("locate %s: %w", name, err)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the Lambda's code is missing: run `make sample` first: %w", err)
	}
	return awslambda.Code_FromAsset(jsii.String(path), nil), nil
}

func output(stack awscdk.Stack, id, description string, value *string) {
	awscdk.NewCfnOutput(stack, jsii.String(id), &awscdk.CfnOutputProps{Description: jsii.String(description), Value: value})
}
