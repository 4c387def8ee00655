package attach

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Stacks finds the limiters of stacks.
type Stacks interface {
	Limiter(ctx context.Context, stack, id string) (aws.Limiter, error)
}

// Table is the rules table of a limiter, which keeps the states.
type Table interface {
	Attachment(ctx context.Context, api, stage string) (*ruletable.Attachment, error)
	PutAttachment(ctx context.Context, api, stage string, a ruletable.Attachment) error
	DeleteAttachment(ctx context.Context, api, stage string, revision int64) error
}

// Functions is what this package calls of AWS Lambda.
type Functions interface {
	GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	GetPolicy(context.Context, *lambda.GetPolicyInput, ...func(*lambda.Options)) (*lambda.GetPolicyOutput, error)
}

// REST is what this package calls of API Gateway for REST APIs.
type REST interface {
	apis.REST
	CreateAuthorizer(context.Context, *apigateway.CreateAuthorizerInput, ...func(*apigateway.Options)) (*apigateway.CreateAuthorizerOutput, error)
	DeleteAuthorizer(context.Context, *apigateway.DeleteAuthorizerInput, ...func(*apigateway.Options)) (*apigateway.DeleteAuthorizerOutput, error)
	UpdateMethod(context.Context, *apigateway.UpdateMethodInput, ...func(*apigateway.Options)) (*apigateway.UpdateMethodOutput, error)
	PutGatewayResponse(context.Context, *apigateway.PutGatewayResponseInput, ...func(*apigateway.Options)) (*apigateway.PutGatewayResponseOutput, error)
	DeleteGatewayResponse(context.Context, *apigateway.DeleteGatewayResponseInput, ...func(*apigateway.Options)) (*apigateway.DeleteGatewayResponseOutput, error)
	CreateDeployment(context.Context, *apigateway.CreateDeploymentInput, ...func(*apigateway.Options)) (*apigateway.CreateDeploymentOutput, error)
	UpdateStage(context.Context, *apigateway.UpdateStageInput, ...func(*apigateway.Options)) (*apigateway.UpdateStageOutput, error)
}

// V2 is what this package calls of API Gateway for HTTP and WebSocket APIs.
type V2 interface {
	apis.V2
	CreateAuthorizer(context.Context, *apigatewayv2.CreateAuthorizerInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.CreateAuthorizerOutput, error)
	DeleteAuthorizer(context.Context, *apigatewayv2.DeleteAuthorizerInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.DeleteAuthorizerOutput, error)
	UpdateRoute(context.Context, *apigatewayv2.UpdateRouteInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.UpdateRouteOutput, error)
	CreateDeployment(context.Context, *apigatewayv2.CreateDeploymentInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.CreateDeploymentOutput, error)
	UpdateStage(context.Context, *apigatewayv2.UpdateStageInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.UpdateStageOutput, error)
	ExportApi(context.Context, *apigatewayv2.ExportApiInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.ExportApiOutput, error)
}

// writer changes one API.
type writer interface {
	// addAuthorizer adds one without identity sources: with them, API Gateway
	// itself answers 401 to a request that lacks them. It returns its id.
	addAuthorizer(ctx context.Context, a apis.Authorizer) (id string, err error)
	removeAuthorizer(ctx context.Context, id string) error
	authorize(ctx context.Context, m Method, a apis.Authorization) error
	// respond sets a gateway response, or removes the API's own for nil.
	respond(ctx context.Context, kind string, r *apis.Response) error
	// deploy makes a deployment of the current API. No stage serves it yet.
	deploy(ctx context.Context) (id string, err error)
	serve(ctx context.Context, stage, deployment string) error
}

// description marks the deployments that attach and detach make.
const description = "by slidegate aws"

// restWriter changes a REST API.
type restWriter struct {
	REST
	api string
}

// v2Writer changes an HTTP or WebSocket API.
type v2Writer struct {
	V2
	api, protocol string
}
