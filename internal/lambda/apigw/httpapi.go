package apigw

import (
	"net/url"
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

// readHTTPAPI1 reads an event of payload version 1.0. It has one value for each
// header and parameter.
func readHTTPAPI1(ev *event) (call, error) {
	if err := required(field{"httpMethod", ev.HTTPMethod}, field{"path", ev.Path}); err != nil {
		return call{}, err
	}
	ip, err := address("requestContext.identity.sourceIp", ev.RequestContext.Identity.SourceIP)
	if err != nil {
		return call{}, err
	}
	return ofHTTPAPI(byPolicy(&request.Request{
		Method:     ev.HTTPMethod,
		Path:       pathBelowStage(ev.Path, ev.RequestContext.Stage, ev.Resource, ev.PathParameters),
		Route:      ev.Resource,
		Stage:      ev.RequestContext.Stage,
		IP:         ip,
		Headers:    several(nil, ev.Headers),
		Query:      several(nil, ev.Query),
		PathParams: ev.PathParameters,
	}, ev.MethodARN))
}

func ofHTTPAPI(c call, err error) (call, error) {
	c.http = true
	return c, err
}

// readHTTPAPI2 reads the event of an authorizer with payload version 2.0.
func (a *Authorizer) readHTTPAPI2(ev *event) (call, error) {
	req, err := readHTTPAPI2(ev)
	switch {
	case err != nil:
		return call{}, err
	case a.Policies:
		return ofHTTPAPI(byPolicy(req, ev.RouteARN))
	}
	return ofHTTPAPI(call{request: req, answer: func(r reply) any {
		return SimpleResponse{IsAuthorized: r.passes, Context: r.context}
	}}, nil)
}

// readHTTPAPI2 reads an event of payload version 2.0. The gateway joins repeated
// headers by commas, and lists cookies apart from the headers.
func readHTTPAPI2(ev *event) (*request.Request, error) {
	about := &ev.RequestContext.HTTP
	if err := required(field{"requestContext.http.method", about.Method}, field{"rawPath", ev.RawPath}); err != nil {
		return nil, err
	}
	ip, err := address("requestContext.http.sourceIp", about.SourceIP)
	if err != nil {
		return nil, err
	}
	headers := several(nil, ev.Headers)
	if len(ev.Cookies) > 0 {
		headers = withCookies(headers, ev.Cookies)
	}
	_, template, _ := strings.Cut(ev.RouteKey, " ")
	return &request.Request{
		Method:     about.Method,
		Path:       pathBelowStage(ev.RawPath, ev.RequestContext.Stage, template, ev.PathParameters),
		Route:      ev.RouteKey,
		Stage:      ev.RequestContext.Stage,
		IP:         ip,
		Headers:    headers,
		Query:      query(ev.RawQuery, ev.Query),
		PathParams: ev.PathParameters,
	}, nil
}

// withCookies adds the cookies as the header that the client sent.
func withCookies(headers map[string][]string, cookies []string) map[string][]string {
	if headers == nil {
		headers = map[string][]string{}
	}
	for name := range headers {
		if strings.EqualFold(name, "cookie") {
			delete(headers, name) // the list holds them all
		}
	}
	headers["cookie"] = []string{strings.Join(cookies, "; ")}
	return headers
}

// query returns the parameters of a query string. joined has one value for each
// name, in which a comma may stand between two values or belong to one. So it
// counts only without the query string, or if that is invalid.
func query(raw string, joined map[string]string) map[string][]string {
	if values, err := url.ParseQuery(raw); err == nil && len(values) > 0 {
		return values
	}
	return several(nil, joined)
}
