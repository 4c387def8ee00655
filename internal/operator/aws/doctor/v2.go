package doctor

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
)

// checkV2 checks the HTTP and WebSocket APIs whose authorizer is the function, as
// they are configured: their stages mostly deploy changes by themselves.
func (e *exam) checkV2(ctx context.Context) {
	e.check("apis", "HTTP and WebSocket APIs", func() error {
		apis, err := pages(func(token *string) ([]types.Api, *string, error) {
			page, err := e.V2.GetApis(ctx, &apigatewayv2.GetApisInput{NextToken: token})
			if err != nil {
				return nil, nil, err
			}
			return page.Items, page.NextToken, nil
		})
		for _, api := range apis {
			where := fmt.Sprintf("%s API %s (%s)", api.ProtocolType, sdk.ToString(api.Name), sdk.ToString(api.ApiId))
			e.check("methods", where, func() error { return e.examineV2(ctx, where, api) })
		}
		return err
	})
}

func (e *exam) examineV2(ctx context.Context, where string, api types.Api) error {
	answer, err := e.V2.GetAuthorizers(ctx, &apigatewayv2.GetAuthorizersInput{ApiId: api.ApiId}) // ten at most
	if err != nil {
		return err
	}
	own, authorizers := "", map[string]authorizer{}
	for _, a := range answer.Items {
		auth := authorizer{sdk.ToString(a.AuthorizerId), sdk.ToString(a.Name), e.asks(a.AuthorizerUri), int(sdk.ToInt32(a.AuthorizerResultTtlInSeconds))}
		authorizers[auth.id] = auth
		if !auth.ours {
			continue
		}
		own = auth.id
		if auth.ttl > 0 {
			e.find("cache", where, cached(auth), fmt.Sprintf("aws apigatewayv2 update-authorizer --api-id %s --authorizer-id %s --authorizer-result-ttl-in-seconds 0", *api.ApiId, auth.id))
		}
	}
	if own == "" {
		return nil
	}
	e.report.APIs = append(e.report.APIs, where)
	routes, err := pages(func(token *string) ([]types.Route, *string, error) {
		page, err := e.V2.GetRoutes(ctx, &apigatewayv2.GetRoutesInput{ApiId: api.ApiId, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.NextToken, nil
	})
	for _, r := range routes {
		m := method{sdk.ToString(r.RouteKey), sdk.ToString(r.RouteId), sdk.ToString(r.AuthorizerId), string(r.AuthorizationType)}
		must := !strings.HasPrefix(m.name, "OPTIONS ")
		if api.ProtocolType == types.ProtocolTypeWebsocket {
			must = m.name == "$connect" // API Gateway asks about no message
		}
		command := fmt.Sprintf("aws apigatewayv2 update-route --api-id %s --route-id %s --authorization-type ", *api.ApiId, m.id)
		e.report.Findings = append(e.report.Findings, m.faults(where, authorizers, must, command+"CUSTOM --authorizer-id "+own, command+"NONE")...)
	}
	return err
}
