package ratelimit

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newAuthorizer adds the authorizer of an HTTP or WebSocket API. It has no
// identity source: the gateway itself answers 401 to a request without one.
func (p *protection) newAuthorizer(scope constructs.Construct, api *string) awsapigatewayv2.CfnAuthorizer {
	own := awsapigatewayv2.NewCfnAuthorizer(scope, jsii.String("Authorizer"), &awsapigatewayv2.CfnAuthorizerProps{
		Name:           jsii.String("Slidegate"),
		AuthorizerType: jsii.String("REQUEST"),
		ApiId:          api,
		AuthorizerUri:  p.uri(),
		IdentitySource: &[]*string{},
	})
	p.permit(scope, api, own.Ref())
	p.own = own.Ref()
	return own
}

// prepareHTTP makes an authorizer with simple responses, which are never cached.
func (p *protection) prepareHTTP(scope constructs.Construct, api awsapigatewayv2.HttpApi) (finish func()) {
	own := p.newAuthorizer(scope, api.ApiId())
	own.SetAuthorizerPayloadFormatVersion(jsii.String("2.0"))
	own.SetAuthorizerResultTtlInSeconds(jsii.Number(0))
	own.SetEnableSimpleResponses(jsii.Bool(true))
	p.covers = func(e endpoint) bool { return !strings.HasPrefix(routeKey(e), "OPTIONS ") }
	return func() {
		routes, keys := p.routes(api.ApiId())
		p.attach(routes)
		cfn, ok := api.Node().DefaultChild().(awsapigatewayv2.CfnApi)
		if ok && cfn.CorsConfiguration() != nil {
			warnOfPreflights(api, keys)
		}
		p.checkStages(api.ApiId())
	}
}

// warnOfPreflights names the routes that receive the preflights of an API with
// CORS: the gateway answers a preflight itself only if its route has no
// authorizer.
func warnOfPreflights(api awsapigatewayv2.HttpApi, keys map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		path, receives := strings.CutPrefix(key, "ANY ")
		if key == "$default" {
			path, receives = "/{proxy+}", true
		}
		if receives && !keys["OPTIONS "+path] {
			addWarning(api, warnPreflight, "the route "+key+" receives preflights, which carry no credentials: "+
				"add a route OPTIONS "+path+", which stays open")
		}
	}
}

// prepareWebSocket makes an authorizer for the route $connect. API Gateway asks
// no authorizer about messages.
func (p *protection) prepareWebSocket(scope constructs.Construct, api awsapigatewayv2.WebSocketApi) (finish func()) {
	p.newAuthorizer(scope, api.ApiId())
	p.covers = func(e endpoint) bool { return routeKey(e) == "$connect" }
	return func() {
		routes, keys := p.routes(api.ApiId())
		for _, route := range routes {
			if !p.covers(route) {
				acknowledge(route, "APIG4", "a WebSocket API has an authorizer at $connect only")
			}
		}
		if !keys["$connect"] {
			addError(api, "the API has no route $connect, so nothing limits its connections: pass ConnectRouteOptions with an integration")
		}
		p.attach(routes)
		p.checkStages(api.ApiId())
	}
}

// routes returns the routes of an API, and their keys.
func (p *protection) routes(api *string) (routes []endpoint, keys map[string]bool) {
	keys = map[string]bool{}
	for _, route := range findOf(p.api, api, awsapigatewayv2.CfnRoute.ApiId) {
		routes = append(routes, route)
		keys[*route.RouteKey()] = true
	}
	return routes, keys
}

func routeKey(e endpoint) string {
	route, ok := e.(awsapigatewayv2.CfnRoute)
	if !ok {
		return ""
	}
	return *route.RouteKey()
}

// checkStages warns of stages that go on without the authorizer.
func (p *protection) checkStages(api *string) {
	for _, stage := range findOf(p.api, api, awsapigatewayv2.CfnStage.ApiId) {
		if stage.AutoDeploy() != true {
			addWarning(stage, warnDeployment, "the stage has no AutoDeploy, so nothing deploys what Protect changes: make a new "+
				"deployment, or the stage stays open")
		}
	}
}
