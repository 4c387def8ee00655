package attach

import (
	"context"
	"errors"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
)

// addAuthorizer adds the authorizer that the construct in infra adds too. A
// WebSocket API takes neither a payload version nor a TTL.
func (w v2Writer) addAuthorizer(ctx context.Context, a apis.Authorizer) (string, error) {
	in := &apigatewayv2.CreateAuthorizerInput{
		ApiId: &w.api, Name: &a.Name, AuthorizerType: types.AuthorizerTypeRequest, AuthorizerUri: &a.URI, IdentitySource: []string{},
	}
	if w.protocol == apis.HTTP {
		in.AuthorizerPayloadFormatVersion, in.EnableSimpleResponses, in.AuthorizerResultTtlInSeconds = sdk.String("2.0"), sdk.Bool(true), sdk.Int32(int32(a.TTL))
	}
	answer, err := w.CreateAuthorizer(ctx, in)
	if err != nil {
		return "", err
	}
	return sdk.ToString(answer.AuthorizerId), nil
}

func (w v2Writer) removeAuthorizer(ctx context.Context, id string) error {
	_, err := w.DeleteAuthorizer(ctx, &apigatewayv2.DeleteAuthorizerInput{ApiId: &w.api, AuthorizerId: &id})
	return err
}

// authorize removes the authorizer by an empty id.
func (w v2Writer) authorize(ctx context.Context, m Method, a apis.Authorization) error {
	_, err := w.UpdateRoute(ctx, &apigatewayv2.UpdateRouteInput{
		ApiId: &w.api, RouteId: &m.ID, AuthorizationType: types.AuthorizationType(a.Type), AuthorizerId: &a.Authorizer,
	})
	return err
}

func (v2Writer) respond(context.Context, string, *apis.Response) error {
	return errors.New("only REST APIs have gateway responses")
}

func (w v2Writer) deploy(ctx context.Context) (string, error) {
	answer, err := w.CreateDeployment(ctx, &apigatewayv2.CreateDeploymentInput{ApiId: &w.api, Description: sdk.String(description)})
	if err != nil {
		return "", err
	}
	return sdk.ToString(answer.DeploymentId), nil
}

func (w v2Writer) serve(ctx context.Context, stage, deployment string) error {
	_, err := w.UpdateStage(ctx, &apigatewayv2.UpdateStageInput{ApiId: &w.api, StageName: &stage, DeploymentId: &deployment})
	return err
}
