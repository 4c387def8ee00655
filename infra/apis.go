package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

// addAPIs adds an API of each other kind. They share the limiter, and so its
// rules and its Lambda.
func addAPIs(stack awscdk.Stack, limiter *ratelimit.RateLimit, backend awslambda.IFunction) {
	output(stack, "HttpApiId", "the id of the HTTP API", newHTTPAPI(stack, limiter, backend).ApiId())
	output(stack, "WebSocketApiId", "the id of the WebSocket API", newWebSocketAPI(stack, limiter, backend).ApiId())
	output(stack, "TokenApiId", "the id of the REST API with a TOKEN authorizer", newTokenAPI(stack, limiter, backend).RestApiId())
	output(stack, "SpecApiId", "the id of the REST API by an OpenAPI definition", newSpecAPI(stack, limiter).RestApiId())
}

func newHTTPAPI(stack awscdk.Stack, limiter *ratelimit.RateLimit, backend awslambda.IFunction) awsapigatewayv2.HttpApi {
	integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String("Backend"), backend, nil)
	api := awsapigatewayv2.NewHttpApi(stack, jsii.String("HttpApi"), &awsapigatewayv2.HttpApiProps{
		DefaultIntegration: integration,
	})
	api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{Path: jsii.String("/v1/items/{id}"), Integration: integration})
	limiter.Protect(api)
	return api
}

// newWebSocketAPI limits connections. The backend answers every message.
func newWebSocketAPI(stack awscdk.Stack, limiter *ratelimit.RateLimit, backend awslambda.IFunction) awsapigatewayv2.WebSocketApi {
	api := awsapigatewayv2.NewWebSocketApi(stack, jsii.String("WebSocketApi"), &awsapigatewayv2.WebSocketApiProps{
		ConnectRouteOptions: &awsapigatewayv2.WebSocketRouteOptions{
			Integration: awsapigatewayv2integrations.NewWebSocketLambdaIntegration(jsii.String("Backend"), backend, nil),
		},
	})
	awsapigatewayv2.NewWebSocketStage(stack, jsii.String("WebSocketStage"), &awsapigatewayv2.WebSocketStageProps{
		WebSocketApi: api, StageName: jsii.String("prod"), AutoDeploy: jsii.Bool(true),
	})
	limiter.Protect(api)
	return api
}

// newTokenAPI has a TOKEN authorizer by the limiter's function, which Protect
// keeps. Rules that read more than the method, the path and the token are refused
// there.
func newTokenAPI(stack awscdk.Stack, limiter *ratelimit.RateLimit, backend awslambda.IFunction) awsapigateway.RestApi {
	api := awsapigateway.NewRestApi(stack, jsii.String("TokenApi"), &awsapigateway.RestApiProps{
		EndpointTypes:  &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		CloudWatchRole: jsii.Bool(false),
		DefaultMethodOptions: &awsapigateway.MethodOptions{
			AuthorizationType: awsapigateway.AuthorizationType_CUSTOM,
			Authorizer: awsapigateway.NewTokenAuthorizer(stack, jsii.String("TokenAuthorizer"), &awsapigateway.TokenAuthorizerProps{
				Handler:         limiter.Function,
				ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(0)),
			}),
		},
	})
	api.Root().ResourceForPath(jsii.String("/v1/items/{id}")).AddMethod(jsii.String("ANY"), awsapigateway.NewLambdaIntegration(backend, nil), nil)
	limiter.Protect(api)
	return api
}

// newSpecAPI is a REST API by a definition, which answers itself.
func newSpecAPI(stack awscdk.Stack, limiter *ratelimit.RateLimit) awsapigateway.SpecRestApi {
	type object = map[string]any
	api := awsapigateway.NewSpecRestApi(stack, jsii.String("SpecApi"), &awsapigateway.SpecRestApiProps{
		EndpointTypes:  &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		CloudWatchRole: jsii.Bool(false),
		ApiDefinition: awsapigateway.ApiDefinition_FromInline(object{
			"openapi": "3.0.1",
			"info":    object{"title": "Slidegate sample", "version": "1"},
			"paths": object{"/v1/items/{id}": object{"get": object{"x-amazon-apigateway-integration": object{
				"type":             "mock",
				"requestTemplates": object{"application/json": `{"statusCode": 200}`},
				"responses":        object{"default": object{"statusCode": "200", "responseTemplates": object{"application/json": "{}"}}},
			}}}},
		}),
	})
	limiter.Protect(api)
	return api
}

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
