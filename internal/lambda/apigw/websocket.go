package apigw

import (
	"fmt"

	"github.com/slidegate/slidegate/internal/request"
)

// readWebSocket reads the event of a WebSocket API's authorizer, for the route
// $connect. It follows "Control access to WebSocket APIs with AWS Lambda REQUEST
// authorizers" in the AWS documentation.
func readWebSocket(ev *event) (*request.Request, error) {
	if route := ev.RequestContext.RouteKey; route != "$connect" {
		return nil, fmt.Errorf("event is for the route %.32q: a WebSocket API has authorizers for $connect alone", route)
	}
	return readHandshake(ev)
}

// readHandshake reads an event. It has no method and no path: the handshake is
// GET by RFC 6455, and an API has one path.
func readHandshake(ev *event) (*request.Request, error) {
	about := &ev.RequestContext
	ip, err := address("requestContext.identity.sourceIp", about.Identity.SourceIP)
	if err != nil {
		return nil, err
	}
	return ev.request("GET", "/", about.RouteKey, ip), nil
}
