package apis

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
)

// pageSize is the most that API Gateway gives at a time.
const pageSize = 500

// RESTs returns all REST APIs.
func (r Reader) RESTs(ctx context.Context) (all []*API, err error) {
	items, err := pages(func(token *string) ([]types.RestApi, *string, error) {
		page, err := r.REST.GetRestApis(ctx, &apigateway.GetRestApisInput{Position: token, Limit: sdk.Int32(pageSize)})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.Position, nil
	})
	for _, a := range items {
		all = append(all, &API{Protocol: RESTProtocol, ID: sdk.ToString(a.Id), Name: sdk.ToString(a.Name), Tags: a.Tags})
	}
	return all, err
}

func (r Reader) findREST(ctx context.Context, id string) (*API, error) {
	a, err := r.REST.GetRestApi(ctx, &apigateway.GetRestApiInput{RestApiId: &id})
	if missing := new(types.NotFoundException); errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &API{Protocol: RESTProtocol, ID: id, Name: sdk.ToString(a.Name), Tags: a.Tags}, nil
}

// restAuthorizers returns the authorizers of an API, of which there are ten at most.
func (r Reader) restAuthorizers(ctx context.Context, api *API) (all []Authorizer, err error) {
	answer, err := r.REST.GetAuthorizers(ctx, &apigateway.GetAuthorizersInput{RestApiId: &api.ID, Limit: sdk.Int32(pageSize)})
	if err != nil {
		return nil, err
	}
	for _, a := range answer.Items {
		all = append(all, Authorizer{
			ID: sdk.ToString(a.Id), Name: sdk.ToString(a.Name), Type: string(a.Type), URI: sdk.ToString(a.AuthorizerUri), TTL: restTTL(a.AuthorizerResultTtlInSeconds),
		})
	}
	return all, nil
}

// restTTL is how long a REST API keeps results: five minutes if nothing is stated.
func restTTL(stated *int32) int {
	if stated == nil {
		return 300
	}
	return int(*stated)
}

func (r Reader) restMethods(ctx context.Context, api *API) (all []Method, err error) {
	resources, err := pages(func(token *string) ([]types.Resource, *string, error) {
		page, err := r.REST.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: &api.ID, Embed: []string{"methods"}, Position: token, Limit: sdk.Int32(pageSize)})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.Position, nil
	})
	for _, resource := range resources {
		for _, verb := range slices.Sorted(maps.Keys(resource.ResourceMethods)) {
			m := resource.ResourceMethods[verb]
			method := Method{Name: verb + " " + sdk.ToString(resource.Path), ID: sdk.ToString(resource.Id), APIKey: sdk.ToBool(m.ApiKeyRequired),
				Authorization: Authorization{cmp.Or(sdk.ToString(m.AuthorizationType), None), sdk.ToString(m.AuthorizerId), m.AuthorizationScopes}}
			if i := m.MethodIntegration; i != nil {
				method.Integration = integration(string(i.Type), sdk.ToString(i.Uri))
			}
			all = append(all, method)
		}
	}
	return all, err
}

func integration(kind, uri string) string {
	return strings.TrimSpace(strings.ToLower(kind) + " " + uri)
}

func (r Reader) restResponses(ctx context.Context, api *API) error {
	answer, err := r.REST.GetGatewayResponses(ctx, &apigateway.GetGatewayResponsesInput{RestApiId: &api.ID, Limit: sdk.Int32(pageSize)})
	if err != nil {
		return err
	}
	api.Responses = map[string]Response{}
	for _, a := range answer.Items {
		api.Responses[string(a.ResponseType)] = Response{!a.DefaultResponse, sdk.ToString(a.StatusCode), a.ResponseParameters, a.ResponseTemplates}
	}
	return nil
}

func (r Reader) restStages(ctx context.Context, api *API) (all []Stage, err error) {
	answer, err := r.REST.GetStages(ctx, &apigateway.GetStagesInput{RestApiId: &api.ID})
	if err != nil {
		return nil, err
	}
	for _, s := range answer.Item {
		all = append(all, Stage{Name: sdk.ToString(s.StageName), Deployment: sdk.ToString(s.DeploymentId), Canary: s.CanarySettings != nil})
	}
	return all, nil
}
