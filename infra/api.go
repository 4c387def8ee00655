package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

// newAPI has explicit resources beside the greedy one, so that rules can match
// the gateway's route templates.
func newAPI(stack awscdk.Stack, limiter *ratelimit.RateLimit, backend awslambda.IFunction) awsapigateway.RestApi {
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), &awsapigateway.RestApiProps{
		Description:    jsii.String("Slidegate sample"),
		EndpointTypes:  &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		CloudWatchRole: jsii.Bool(false), // it would be for the whole account, not for this API
		DeployOptions:  &awsapigateway.StageOptions{StageName: jsii.String("prod")},
		DefaultIntegration: awsapigateway.NewLambdaIntegration(backend, &awsapigateway.LambdaIntegrationOptions{
			ScopePermissionToMethod: jsii.Bool(false), // one permission for the API in place of two for each method
		}),
		DefaultCorsPreflightOptions: &awsapigateway.CorsOptions{AllowOrigins: awsapigateway.Cors_ALL_ORIGINS()},
	})
	api.Root().AddMethod(jsii.String("ANY"), nil, nil)
	for _, path := range []string{"/v1/items", "/v1/items/{id}", "/{proxy+}"} {
		api.Root().ResourceForPath(jsii.String(path)).AddMethod(jsii.String("ANY"), nil, nil)
	}
	limiter.Protect(api)
	api.Node().TryRemoveChild(jsii.String("Endpoint")) // it has the same URL under a generated name
	return api
}

// newBackend returns a function that may write its log, and settle.
func newBackend(stack awscdk.Stack, limiter *ratelimit.RateLimit, code awslambda.Code, s settings) awslambda.Function {
	log := awslogs.NewLogGroup(stack, jsii.String("BackendLog"), &awslogs.LogGroupProps{
		Retention:     awslogs.RetentionDays_ONE_MONTH,
		RemovalPolicy: s.removal,
	})
	role := awsiam.NewRole(stack, jsii.String("BackendRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	log.GrantWrite(role)
	limiter.GrantSettle(role)
	return awslambda.NewFunction(stack, jsii.String("Backend"), &awslambda.FunctionProps{
		Description:  jsii.String("Slidegate sample backend: echoes each request and its decision"),
		Environment:  &map[string]*string{"SLIDEGATE_COUNTERS": limiter.CountersTable.TableName()},
		Code:         code,
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Handler:      jsii.String("bootstrap"),
		Architecture: s.architecture,
		MemorySize:   jsii.Number(128),
		Timeout:      awscdk.Duration_Seconds(jsii.Number(5)),
		Role:         role,
		LogGroup:     log,
	})
}
