package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Limiter is one of a stack.
type Limiter struct{ Stack, ID string }

func (l Limiter) String() string { return strings.TrimSuffix("stack://"+l.Stack+"/"+l.ID, "/") }

// limiter is the function that authorizers ask.
type limiter struct {
	name   string
	arn    arn.ARN
	uri    string // by which API Gateway calls it
	table  string // of rules
	policy string // who may call it; "" for none
}

// limiter finds the function of a limiter.
func (r *Region) limiter(ctx context.Context, o Limiter) (l limiter, err error) {
	found, err := r.Stacks.Limiter(ctx, o.Stack, o.ID)
	if errors.Is(err, aws.ErrNoStack) {
		flag := ""
		if o.Stack != aws.DefaultStack {
			flag = " --stack " + o.Stack
		}
		return l, fmt.Errorf("%w, or create it: slidegate aws deploy%s --rules rules.yaml", err, flag)
	}
	if err != nil {
		return l, err
	}
	if found.Function == "" {
		return l, fmt.Errorf("stack %s has no output that names the limiter's function: deploy it by a later version", o.Stack)
	}
	l.name, l.table = found.Function, found.RulesTable
	f, err := r.Functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &l.name})
	if err != nil {
		return l, fmt.Errorf("function %s: %w", l.name, aws.Explain(err))
	}
	if l.arn, err = arn.Parse(sdk.ToString(f.FunctionArn)); err != nil {
		return l, fmt.Errorf("function %s: %w", l.name, err)
	}
	l.uri = fmt.Sprintf("arn:%s:apigateway:%s:lambda:path/2015-03-31/functions/%s/invocations", l.arn.Partition, l.arn.Region, l.arn)
	p, err := r.Functions.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: &l.name})
	if _, none := errors.AsType[*types.ResourceNotFoundException](err); none {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("function %s: %w", l.name, aws.Explain(err))
	}
	l.policy = sdk.ToString(p.Policy)
	return l, nil
}

// invokedBy reports whether an authorizer with this URI calls the function,
// whatever its version or alias.
func (l *limiter) invokedBy(uri string) bool {
	rest, ok := strings.CutPrefix(uri, strings.TrimSuffix(l.uri, "/invocations"))
	return ok && strings.IndexAny(rest, "/:") == 0
}

// check refuses an API for which API Gateway may not call the function. A stack of
// `aws deploy` permits it for all APIs, one of a CDK app only for those of the app.
func (l *limiter) check(p *plan) {
	var policy struct {
		Statement []struct {
			Effect    string
			Principal any
			Condition struct{ ArnLike map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(l.policy), &policy); err != nil && l.policy != "" {
		p.refuse("the policy of function %s: %v", l.name, err)
	}
	source := arn.ARN{Partition: l.arn.Partition, Service: "execute-api", Region: l.arn.Region, AccountID: l.arn.AccountID, Resource: p.api.ID + "/authorizers/*"}.String()
	for _, s := range policy.Statement {
		pattern, limited := s.Condition.ArnLike["AWS:SourceArn"]
		if s.Effect == "Allow" && strings.Contains(fmt.Sprint(s.Principal), "apigateway.") && (!limited || aws.Covers(pattern, source)) {
			return
		}
	}
	p.refuse("API Gateway may not call the function for it: aws lambda add-permission --function-name %s --statement-id slidegate-%s "+
		"--action lambda:InvokeFunction --principal apigateway.amazonaws.com --source-arn '%s'", l.name, p.api.ID, source)
}

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
