package gateway

import (
	"crypto/rand"
	"net"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/apigw"
)

// greedyRoute is the template that every local request matches: rules then look at the path.
const greedyRoute = "/{proxy+}"

// event describes a request as a REST API does to its authorizer. The address is the connection's: no header counts.
func event(r *http.Request, stage string) apigw.RequestEvent {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	query, headers := r.URL.Query(), r.Header.Clone()
	headers["Host"] = []string{r.Host} // net/http takes it out of the fields
	ev := apigw.RequestEvent{
		Type:                            "REQUEST",
		MethodArn:                       "arn:aws:execute-api:local:000000000000:slidegate/" + stage + "/" + r.Method + path,
		Resource:                        greedyRoute,
		Path:                            path,
		HTTPMethod:                      r.Method,
		Headers:                         last(headers),
		MultiValueHeaders:               headers,
		QueryStringParameters:           last(query),
		MultiValueQueryStringParameters: query,
		PathParameters:                  map[string]string{"proxy": strings.TrimPrefix(path, "/")},
	}
	ev.RequestContext.Path = "/" + stage + path
	ev.RequestContext.Stage = stage
	ev.RequestContext.HTTPMethod = r.Method
	ev.RequestContext.ResourcePath = greedyRoute
	ev.RequestContext.RequestID = rand.Text()
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		address, _, _ := strings.Cut(host, "%") // a link-local address carries its zone
		ev.RequestContext.Identity.SourceIP = address
	}
	return ev
}

// last keeps the last of repeated values, as API Gateway's single-valued maps do.
func last(all map[string][]string) map[string]string {
	single := make(map[string]string, len(all))
	for name, values := range all {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return single
}
