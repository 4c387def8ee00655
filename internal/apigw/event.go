// Package apigw translates between API Gateway's events and the engine: the
// event of a request authorizer into a request, and a decision into a policy
// and its context. Their forms follow "Input to an API Gateway Lambda
// authorizer" and "Output from an API Gateway Lambda authorizer" in the AWS
// documentation.
package apigw

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/request"
)

// RequestEvent is the event of a REST API's REQUEST authorizer.
type RequestEvent = events.APIGatewayCustomAuthorizerRequestTypeRequest

// readRequest reads an event. The client's address is the one that API Gateway saw,
// whatever the headers say. An event without an address, a path or a method is
// of another kind, such as an HTTP API's: rules must not count it as a client
// without an address.
func readRequest(ev *RequestEvent) (*request.Request, error) {
	if ev.Type != "REQUEST" {
		return nil, fmt.Errorf("event type is %q: the authorizer must be of type REQUEST", ev.Type)
	}
	if missing := missingFields(ev); len(missing) > 0 {
		return nil, fmt.Errorf("event has no %s: only events of a REST API's REQUEST authorizer are supported", strings.Join(missing, ", no "))
	}
	ip, err := netip.ParseAddr(ev.RequestContext.Identity.SourceIP)
	if err != nil {
		return nil, fmt.Errorf("event's requestContext.identity.sourceIp: %w", err)
	}
	return &request.Request{
		Method:     ev.HTTPMethod,
		Path:       pathBelow(ev),
		Route:      ev.Resource,
		Stage:      ev.RequestContext.Stage,
		IP:         ip,
		Headers:    several(ev.MultiValueHeaders, ev.Headers),
		Query:      several(ev.MultiValueQueryStringParameters, ev.QueryStringParameters),
		PathParams: ev.PathParameters,
	}, nil
}

// missingFields names the fields of an event that rules need and that are
// empty.
func missingFields(ev *RequestEvent) (missing []string) {
	for _, field := range []struct{ name, value string }{
		{"httpMethod", ev.HTTPMethod}, {"path", ev.Path}, {"requestContext.identity.sourceIp", ev.RequestContext.Identity.SourceIP},
	} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	return missing
}

// several returns the map with repeated values. Some emulators send only the
// other one.
func several(all map[string][]string, last map[string]string) map[string][]string {
	if len(all) > 0 || len(last) == 0 {
		return all
	}
	all = make(map[string][]string, len(last))
	for name, value := range last {
		all[name] = []string{value}
	}
	return all
}

// stageARN returns the resource of a policy: all methods and paths of the
// stage. The method's own ARN holds the path as the client sent it, and may be
// longer than a policy allows.
func stageARN(methodARN string) (string, error) {
	parts := strings.SplitN(methodARN, "/", 3)
	if len(parts) < 3 || !strings.HasPrefix(methodARN, "arn:") || parts[0] == "" || parts[1] == "" {
		return "", errors.New("event has no methodArn of the form arn:PARTITION:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH")
	}
	return parts[0] + "/" + parts[1] + "/*", nil
}
