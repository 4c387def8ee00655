package gateway

import (
	"crypto/rand"
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

// event describes a request as a REST API does to its authorizer. The client's
// address is that of the connection, whatever the headers say. As API Gateway
// does, event appends it to X-Forwarded-For.
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

// last keeps the last of repeated values, as API Gateway's single-valued maps
// do.
func last(all map[string][]string) map[string]string {
	single := make(map[string]string, len(all))
	for name, values := range all {
		if len(values) > 0 {
			single[name] = values[len(values)-1]
		}
	}
	return single
}
