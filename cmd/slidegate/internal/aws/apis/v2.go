package apis

import (
	"cmp"
	"context"
	"errors"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
)

// V2s returns all HTTP and WebSocket APIs.
func (r Reader) V2s(ctx context.Context) (all []*API, err error) {
	items, err := pages(func(token *string) ([]types.Api, *string, error) {
		page, err := r.V2.GetApis(ctx, &apigatewayv2.GetApisInput{NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.NextToken, nil
	})
	for _, a := range items {
		all = append(all, &API{Protocol: string(a.ProtocolType), ID: sdk.ToString(a.ApiId), Name: sdk.ToString(a.Name), Tags: a.Tags})
	}
	return all, err
}

func (r Reader) findV2(ctx context.Context, id string) (*API, error) {
	a, err := r.V2.GetApi(ctx, &apigatewayv2.GetApiInput{ApiId: &id})
	if missing := new(types.NotFoundException); errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &API{Protocol: string(a.ProtocolType), ID: id, Name: sdk.ToString(a.Name), Tags: a.Tags}, nil
}

// v2Authorizers returns the authorizers of an API, of which there are ten at most.
func (r Reader) v2Authorizers(ctx context.Context, api *API) (all []Authorizer, err error) {
	answer, err := r.V2.GetAuthorizers(ctx, &apigatewayv2.GetAuthorizersInput{ApiId: &api.ID})
	if err != nil {
		return nil, err
	}
	for _, a := range answer.Items {
		ttl := int(sdk.ToInt32(a.AuthorizerResultTtlInSeconds))
		if api.Protocol == WebSocket {
			ttl = 0 // it keeps none, whatever is stated
		}
		all = append(all, Authorizer{sdk.ToString(a.AuthorizerId), sdk.ToString(a.Name), string(a.AuthorizerType), sdk.ToString(a.AuthorizerUri), ttl})
	}
	return all, nil
}

func (r Reader) routes(ctx context.Context, api *API) (all []Method, err error) {
	routes, err := pages(func(token *string) ([]types.Route, *string, error) {
		page, err := r.V2.GetRoutes(ctx, &apigatewayv2.GetRoutesInput{ApiId: &api.ID, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.NextToken, nil
	})
	for _, m := range routes {
		all = append(all, Method{Name: sdk.ToString(m.RouteKey), ID: sdk.ToString(m.RouteId),
			Authorization: Authorization{cmp.Or(string(m.AuthorizationType), None), sdk.ToString(m.AuthorizerId), m.AuthorizationScopes}})
	}
	return all, err
}

func (r Reader) v2Stages(ctx context.Context, api *API) (all []Stage, err error) {
	stages, err := pages(func(token *string) ([]types.Stage, *string, error) {
		page, err := r.V2.GetStages(ctx, &apigatewayv2.GetStagesInput{ApiId: &api.ID, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.NextToken, nil
	})
	for _, s := range stages {
		all = append(all, Stage{Name: sdk.ToString(s.StageName), Deployment: sdk.ToString(s.DeploymentId), AutoDeploy: sdk.ToBool(s.AutoDeploy)})
	}
	return all, err
}
