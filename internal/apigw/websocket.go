package apigw

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/request"
)

// webSocketEvent is the event of a WebSocket API's authorizer, for the route
// $connect. It follows "Control access to WebSocket APIs with AWS Lambda REQUEST
// authorizers" in the AWS documentation.
type webSocketEvent struct {
	MethodARN      string                                        `json:"methodArn"`
	Headers        map[string]string                             `json:"headers"`
	MultiHeaders   map[string][]string                           `json:"multiValueHeaders"`
	Query          map[string]string                             `json:"queryStringParameters"`
	MultiQuery     map[string][]string                           `json:"multiValueQueryStringParameters"`
	RequestContext events.APIGatewayWebsocketProxyRequestContext `json:"requestContext"`
}

// readWebSocket reads an event. It has no method and no path: the handshake is
// GET by RFC 6455, and an API has one path.
func readWebSocket(ev *webSocketEvent) (call, error) {
	about := &ev.RequestContext
	if about.RouteKey != "$connect" {
		return call{}, fmt.Errorf("event is for the route %.32q: a WebSocket API has authorizers for $connect alone", about.RouteKey)
	}
	ip, err := address("requestContext.identity.sourceIp", about.Identity.SourceIP)
	if err != nil {
		return call{}, err
	}
	return byPolicy(&request.Request{
		Method:  "GET",
		Path:    "/",
		Route:   about.RouteKey,
		Stage:   about.Stage,
		IP:      ip,
		Headers: several(ev.MultiHeaders, ev.Headers),
		Query:   several(ev.MultiQuery, ev.Query),
	}, ev.MethodARN)
}
