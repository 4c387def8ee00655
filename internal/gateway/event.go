package gateway

import (
	"net"
	"net/http"
	"net/textproto"
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
// the headers say. As API Gateway does, event appends it to X-Forwarded-For.
func event(r *http.Request) apigw.RequestEvent {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	query, headers := r.URL.Query(), endToEnd(r.Header)
	headers["Host"] = []string{r.Host} // net/http removes it from the fields
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

// endToEnd returns the fields that the backend sees too. A proxy removes the
// fields that Connection names, and a limit must not depend on fields that the
// backend cannot verify.
func endToEnd(fields http.Header) http.Header {
	kept := fields.Clone()
	for _, list := range fields["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			kept.Del(textproto.TrimString(name)) // spaces and tabs only, as the proxy does
		}
	}
	return kept
}
