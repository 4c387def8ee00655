package gateway

import (
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

const (
	stage = "local"
	// greedyRoute is the template that every local request matches, so that
	// rules match by the path.
	greedyRoute = "/{proxy+}"
)

// event describes a request as a REST API does to its authorizer, as far as the
// authorizer reads it.
func event(r *http.Request) apigw.RequestEvent {
	req := httplimit.ReadRequest(r)
	ev := apigw.RequestEvent{
		Type:                            "REQUEST",
		MethodArn:                       "arn:aws:execute-api:local:000000000000:slidegate/" + stage + "/" + req.Method + req.Path,
		Resource:                        greedyRoute,
		Path:                            req.Path,
		HTTPMethod:                      req.Method,
		MultiValueHeaders:               req.Headers,
		MultiValueQueryStringParameters: req.Query,
		PathParameters:                  map[string]string{"proxy": strings.TrimPrefix(req.Path, "/")},
	}
	ev.RequestContext.Stage = stage
	if req.IP.IsValid() {
		ev.RequestContext.Identity.SourceIP = req.IP.String()
	}
	return ev
}
