package apigw

import (
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// The events of an HTTP API's authorizer, and their answers, follow "Control
// access to HTTP APIs with AWS Lambda authorizers" in the AWS documentation. A
// denial is answered 403: an HTTP API has no gateway responses.

// SimpleResponse is the answer to an HTTP API without a policy. Its JSON is that
// of events.APIGatewayV2CustomAuthorizerSimpleResponse.
type SimpleResponse struct {
	IsAuthorized bool     `json:"isAuthorized"`
	Context      *Context `json:"context"`
}

// The payload versions of HTTP APIs. Events of REST and WebSocket APIs have none.
const (
	httpAPI1 = "1.0"
	httpAPI2 = "2.0"
)

// readHTTPAPI2 reads an event of payload version 2.0.
func readHTTPAPI2(ev *event) (*request.Request, error) {
	about := &ev.RequestContext.HTTP
	if err := required(field{"requestContext.http.method", about.Method}, field{"rawPath", ev.RawPath}); err != nil {
		return nil, err
	}
	ip, err := address("requestContext.http.sourceIp", about.SourceIP)
	if err != nil {
		return nil, err
	}
	_, template, _ := strings.Cut(ev.RouteKey, " ")
	below := pathBelowStage(ev.RawPath, ev.RequestContext.Stage, template, ev.PathParameters)
	return ev.request(about.Method, below, ev.RouteKey, ip), nil
}

// withCookies adds the cookies that version 2.0 lists as the header that the client
// sent. The list holds them all.
func withCookies(headers map[string][]string, cookies []string) map[string][]string {
	if len(cookies) == 0 {
		return headers
	}
	all := map[string][]string{"cookie": {strings.Join(cookies, "; ")}}
	for name, values := range headers {
		if !strings.EqualFold(name, "cookie") {
			all[name] = values
		}
	}
	return all
}
