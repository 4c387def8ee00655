package attach

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

func (w restWriter) addAuthorizer(ctx context.Context, a apis.Authorizer) (string, error) {
	answer, err := w.CreateAuthorizer(ctx, &apigateway.CreateAuthorizerInput{
		RestApiId: &w.api, Name: &a.Name, Type: types.AuthorizerTypeRequest, AuthorizerUri: &a.URI, AuthorizerResultTtlInSeconds: sdk.Int32(int32(a.TTL)),
	})
	if err != nil {
		return "", err
	}
	return sdk.ToString(answer.Id), nil
}

func (w restWriter) removeAuthorizer(ctx context.Context, id string) error {
	_, err := w.DeleteAuthorizer(ctx, &apigateway.DeleteAuthorizerInput{RestApiId: &w.api, AuthorizerId: &id})
	return err
}

func (w restWriter) authorize(ctx context.Context, m Method, a apis.Authorization) error {
	verb := apis.Method{Name: m.Name}.Verb()
	_, err := w.UpdateMethod(ctx, &apigateway.UpdateMethodInput{
		RestApiId: &w.api, ResourceId: &m.ID, HttpMethod: &verb,
		PatchOperations: []types.PatchOperation{replace("/authorizationType", a.Type), replace("/authorizerId", a.Authorizer)},
	})
	return err
}

func (w restWriter) respond(ctx context.Context, kind string, r *apis.Response) error {
	if r == nil {
		_, err := w.DeleteGatewayResponse(ctx, &apigateway.DeleteGatewayResponseInput{RestApiId: &w.api, ResponseType: types.GatewayResponseType(kind)})
		return err
	}
	in := &apigateway.PutGatewayResponseInput{
		RestApiId: &w.api, ResponseType: types.GatewayResponseType(kind), ResponseParameters: r.Parameters, ResponseTemplates: r.Templates,
	}
	if r.Status != "" {
		in.StatusCode = &r.Status
	}
	_, err := w.PutGatewayResponse(ctx, in)
	return err
}

func (w restWriter) deploy(ctx context.Context) (string, error) {
	answer, err := w.CreateDeployment(ctx, &apigateway.CreateDeploymentInput{RestApiId: &w.api, Description: sdk.String(description)})
	if err != nil {
		return "", err
	}
	return sdk.ToString(answer.Id), nil
}

func (w restWriter) serve(ctx context.Context, stage, deployment string) error {
	_, err := w.UpdateStage(ctx, &apigateway.UpdateStageInput{
		RestApiId: &w.api, StageName: &stage, PatchOperations: []types.PatchOperation{replace("/deploymentId", deployment)},
	})
	return err
}

func replace(path, value string) types.PatchOperation {
	return types.PatchOperation{Op: types.OpReplace, Path: &path, Value: &value}
}

// responses returns the gateway responses that a REST API needs and lacks. An optional
// one replaces none of the API's own. Other APIs need none.
func responses(api *apis.API) []Response {
	all := []Response{}
	if api.Responses == nil {
		return all
	}
	for _, wanted := range apigw.GatewayResponses() {
		has := api.Responses[wanted.Type]
		if api.Replaces(wanted) {
			continue
		}
		r := Response{Type: wanted.Type, After: has.With(wanted)}
		if has.Own {
			r.Before = &has
		}
		if !has.Own || wanted.Differences(has.Status, has.Headers(), has.Templates) != nil {
			all = append(all, r)
		}
	}
	return all
}
