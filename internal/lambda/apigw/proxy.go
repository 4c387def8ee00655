package apigw

import (
	"errors"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/request"
)

// The functions below read the events of functions that answer requests, not of
// authorizers. They take the client's address from the gateway, whatever the
// headers say, and fail as the authorizer does if the event lacks what rules need.

// FromREST reads the event of a REST API, or of an HTTP API with payload version
// 1.0. It follows "Input format of a Lambda function for proxy integration".
func FromREST(ev *events.APIGatewayProxyRequest) (*request.Request, error) {
	identity := &ev.RequestContext.Identity
	asAuthorizer := event{
		Type: "REQUEST", HTTPMethod: ev.HTTPMethod, Resource: ev.Resource, Path: ev.Path, PathParameters: ev.PathParameters,
		Headers: ev.Headers, MultiHeaders: ev.MultiValueHeaders,
		Query: ev.QueryStringParameters, MultiQuery: ev.MultiValueQueryStringParameters,
	}
	asAuthorizer.RequestContext.Stage, asAuthorizer.RequestContext.Identity.SourceIP = ev.RequestContext.Stage, identity.SourceIP
	if !strings.HasPrefix(ev.Resource, "/") { // the route $default of an HTTP API
		asAuthorizer.Version = httpAPI1
	}
	req, err := readRequest(&asAuthorizer)
	if err != nil {
		return nil, err
	}
	req.Path = encoded(req.Path) // a REST API's has no number sign, and nothing else tells the two kinds of APIs apart
	req.Claims, req.APIKey = cognitoClaims(ev.RequestContext.Authorizer), keyID(identity.APIKeyID, identity.APIKey)
	if req.Claims == nil {
		req.Claims = identityClaims(identity)
	}
	return req, nil
}

// FromHTTPAPI reads the event of an HTTP API with payload version 2.0. It follows
// "Create AWS Lambda proxy integrations for HTTP APIs".
func FromHTTPAPI(ev *events.APIGatewayV2HTTPRequest) (*request.Request, error) {
	about := &ev.RequestContext
	asAuthorizer := event{
		RouteKey: ev.RouteKey, RawPath: ev.RawPath, RawQuery: ev.RawQueryString, Cookies: ev.Cookies, Headers: ev.Headers,
		Query: ev.QueryStringParameters, PathParameters: ev.PathParameters, RequestContext: eventContext{Stage: about.Stage},
	}
	asAuthorizer.RequestContext.HTTP.Method, asAuthorizer.RequestContext.HTTP.SourceIP = about.HTTP.Method, about.HTTP.SourceIP
	req, err := readHTTPAPI2(&asAuthorizer)
	if err != nil {
		return nil, err
	}
	if a := ev.RequestContext.Authorizer; a != nil {
		req.Claims = httpAPIClaims(a)
	}
	return req, nil
}

// FromFunctionURL reads the event of a function URL, which has the form of an
// HTTP API's without routes. It follows "Invoking Lambda function URLs".
func FromFunctionURL(ev *events.LambdaFunctionURLRequest) (*request.Request, error) {
	about := &ev.RequestContext
	asHTTPAPI := event{
		RouteKey: "$default", RawPath: ev.RawPath, RawQuery: ev.RawQueryString, Cookies: ev.Cookies, Headers: ev.Headers,
		Query: ev.QueryStringParameters, RequestContext: eventContext{Stage: "$default"},
	}
	asHTTPAPI.RequestContext.HTTP.Method, asHTTPAPI.RequestContext.HTTP.SourceIP = about.HTTP.Method, about.HTTP.SourceIP
	req, err := readHTTPAPI2(&asHTTPAPI)
	if err != nil {
		return nil, err
	}
	if a := ev.RequestContext.Authorizer; a != nil && a.IAM != nil {
		req.Claims = iamClaims(a.IAM.AccountID, a.IAM.CallerID, a.IAM.UserARN, a.IAM.UserID, "")
	}
	return req, nil
}

// missingInMessage: what a client sent with its handshake is not in the events
// of its messages.
var missingInMessage = &request.Missing{
	Event:   "the event of a WebSocket message",
	Instead: "key by {ip}, {apikey}, {jwt.NAME} or {path.connectionId}",
	Headers: true, Query: true,
}

// FromWebSocket reads the event of a WebSocket API's route: the handshake as its
// authorizer reads it, and a message as a POST to "/". The route sendMessage is
// "/sendMessage". Both have the id of the connection as a path parameter.
func FromWebSocket(ev *events.APIGatewayWebsocketProxyRequest) (*request.Request, error) {
	about := &ev.RequestContext
	asAuthorizer := event{
		Headers: ev.Headers, MultiHeaders: ev.MultiValueHeaders, Query: ev.QueryStringParameters, MultiQuery: ev.MultiValueQueryStringParameters,
		RequestContext: eventContext{RouteKey: about.RouteKey, Stage: about.Stage},
	}
	asAuthorizer.RequestContext.Identity.SourceIP = about.Identity.SourceIP
	req, err := readHandshake(&asAuthorizer)
	if err != nil {
		return nil, err
	}
	if err := required(field{"requestContext.routeKey", about.RouteKey}, field{"requestContext.connectionId", about.ConnectionID}); err != nil {
		return nil, err
	}
	req.PathParams = map[string]string{"connectionId": about.ConnectionID}
	if about.RouteKey != "$connect" {
		req.Method, req.Missing = "POST", missingInMessage
	}
	if !strings.HasPrefix(about.RouteKey, "$") { // patterns of rules begin with a slash
		req.Route = "/" + about.RouteKey
	}
	req.Claims, req.APIKey = identityClaims(&about.Identity), keyID(about.Identity.APIKeyID, about.Identity.APIKey)
	return req, nil
}

// FromALB reads the event of an Application Load Balancer. It follows "Use Lambda
// functions as targets of an Application Load Balancer". The balancer appends the
// address that it saw to X-Forwarded-For, and decodes no query.
func FromALB(ev *events.ALBTargetGroupRequest) (*request.Request, error) {
	if err := required(field{"requestContext.elb.targetGroupArn", ev.RequestContext.ELB.TargetGroupArn},
		field{"httpMethod", ev.HTTPMethod}, field{"path", ev.Path}); err != nil {
		return nil, err
	}
	req := &request.Request{
		Method: ev.HTTPMethod, Path: ev.Path, Headers: several(ev.MultiValueHeaders, ev.Headers),
		Query: decoded(several(ev.MultiValueQueryStringParameters, ev.QueryStringParameters)),
	}
	for name, values := range several(ev.MultiValueQueryStringParameters, ev.QueryStringParameters) {
		for _, value := range values {
			req.AmbiguousQuery = append(req.AmbiguousQuery, request.AmbiguousNames(name+"="+value)...)
		}
	}
	if req.IP = req.LastForwarded(); !req.IP.IsValid() {
		return nil, errors.New("event's header x-forwarded-for does not end with an IP address")
	}
	return req, nil
}

// IsHealthCheck reports whether an event is a load balancer's own health check.
// It has no X-Forwarded-For, which the balancer adds to every client's request.
func IsHealthCheck(ev *events.ALBTargetGroupRequest) bool {
	r := request.Request{Headers: several(ev.MultiValueHeaders, ev.Headers)}
	agent := r.Header("user-agent")
	return len(r.Header("x-forwarded-for")) == 0 && len(agent) == 1 && agent[0] == "ELB-HealthChecker/2.0"
}

// decoded decodes the names and values of a query. A part that cannot be decoded
// stays as it is.
func decoded(query map[string][]string) map[string][]string {
	all := make(map[string][]string, len(query))
	for name, values := range query {
		name = unescaped(name)
		for _, value := range values {
			all[name] = append(all[name], unescaped(value))
		}
	}
	return all
}

func unescaped(escaped string) string {
	if plain, err := url.QueryUnescape(escaped); err == nil {
		return plain
	}
	return escaped
}
