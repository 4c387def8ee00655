// Command stranger is a CDK app with an API behind a limiter: `stranger rest`,
// http or websocket.
package main

import (
	"log"
	"os"
	"runtime"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/ratelimit"
)

// props are what the limiter needs on a local AWS: the architecture of this
// machine, and tables that go with the stack.
var props = ratelimit.Props{Rules: "rules.yaml", RemovalPolicy: awscdk.RemovalPolicy_DESTROY}

func main() {
	defer jsii.Close()
	if runtime.GOARCH == "amd64" {
		props.Architecture = awslambda.Architecture_X86_64()
	}
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Stranger-"+os.Args[1]), nil)
	limiter, err := ratelimit.New(stack, jsii.String("RateLimit"), &props)
	if err != nil {
		log.Fatal(err)
	}
	// A slow local AWS takes longer than the default.
	limiter.Function.Node().DefaultChild().(awscdk.CfnResource).AddPropertyOverride(jsii.String("Environment.Variables.SLIDEGATE_DEADLINE"), "2s")
	limiter.Protect(apis[os.Args[1]](stack))
	app.Synth(nil)
}

var apis = map[string]func(awscdk.Stack) constructs.IConstruct{"rest": newREST, "http": newHTTP, "websocket": newWebSocket}

func newREST(stack awscdk.Stack) constructs.IConstruct {
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), nil)
	api.Root().AddMethod(jsii.String("GET"), nil, nil) // a mock answers
	output(stack, api.RestApiId())
	return api
}

func newHTTP(stack awscdk.Stack) constructs.IConstruct {
	server := awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Server"), jsii.String(os.Getenv("BACKEND")), nil)
	api := awsapigatewayv2.NewHttpApi(stack, jsii.String("Api"), &awsapigatewayv2.HttpApiProps{DefaultIntegration: server})
	output(stack, api.ApiId())
	return api
}

func newWebSocket(stack awscdk.Stack) constructs.IConstruct {
	mock := awsapigatewayv2integrations.NewWebSocketMockIntegration(jsii.String("Mock"), nil)
	api := awsapigatewayv2.NewWebSocketApi(stack, jsii.String("Api"), &awsapigatewayv2.WebSocketApiProps{
		ConnectRouteOptions: &awsapigatewayv2.WebSocketRouteOptions{Integration: mock},
	})
	awsapigatewayv2.NewWebSocketStage(stack, jsii.String("Stage"), &awsapigatewayv2.WebSocketStageProps{
		WebSocketApi: api, StageName: jsii.String("prod"), AutoDeploy: jsii.Bool(true),
	})
	output(stack, api.ApiId())
	return api
}

func output(stack awscdk.Stack, id *string) {
	awscdk.NewCfnOutput(stack, jsii.String("ApiId"), &awscdk.CfnOutputProps{Value: id})
}
