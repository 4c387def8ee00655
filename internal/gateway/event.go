package gateway

import (
	"net"
	"net/http"
	"strings"

	"github.com/slidegate/slidegate/internal/apigw"
)

const (
	stage = "local"
	// greedyRoute is the template that every local request matches, so that
	// rules match by the path.
	greedyRoute = "/{proxy+}"
)

// event describes a request as a REST API does to its authorizer, as far as the
// authorizer reads it. The client's address is that of the connection, whatever
// the headers say. As API Gateway does, event appends it to X-Forwarded-For. It
// has the fields that Connection names too: a client must not hide a field that
// decides.
func event(r *http.Request) apigw.RequestEvent {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	query, headers := r.URL.Query(), r.Header.Clone()
	headers["Host"] = []string{r.Host} // net/http removes it from the fields, and Transfer-Encoding
	if len(r.TransferEncoding) > 0 {
		headers["Transfer-Encoding"] = r.TransferEncoding
	}
	if address := peer(r); address != "" {
		headers["X-Forwarded-For"] = append(headers["X-Forwarded-For"], address)
	}
	ev := apigw.RequestEvent{
		Type:                            "REQUEST",
		MethodArn:                       "arn:aws:execute-api:local:000000000000:slidegate/" + stage + "/" + r.Method + path,
		Resource:                        greedyRoute,
		Path:                            path,
		HTTPMethod:                      r.Method,
		MultiValueHeaders:               headers,
		MultiValueQueryStringParameters: query,
		PathParameters:                  map[string]string{"proxy": strings.TrimPrefix(path, "/")},
	}
	ev.RequestContext.Stage = stage
	ev.RequestContext.Identity.SourceIP = peer(r)
	return ev
}

// peer returns the address of the connection; empty if there is none.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	address, _, _ := strings.Cut(host, "%") // a link-local address carries its zone
	return address
}
