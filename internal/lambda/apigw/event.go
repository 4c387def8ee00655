// Package apigw translates between the events of Lambda authorizers and the
// engine: an event of any kind into a request, and a decision into the answer
// that this kind of gateway takes. It also reads the events of functions that
// answer requests.
package apigw

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/request"
)

// RequestEvent is the event of a REST API's REQUEST authorizer. It follows "Input
// to an API Gateway Lambda authorizer" in the AWS documentation, and its answer
// "Output from an API Gateway Lambda authorizer".
type RequestEvent = events.APIGatewayCustomAuthorizerRequestTypeRequest

// event is what rules need of an authorizer's event of any kind. The events of all
// kinds have the same types for the same names, so one pass over an event finds
// its kind and reads it.
type event struct {
	Type      string  `json:"type"`
	Version   string  `json:"version"`
	MethodARN string  `json:"methodArn"`
	RouteARN  string  `json:"routeArn"`
	Token     *string `json:"authorizationToken"`

	HTTPMethod string `json:"httpMethod"`
	Resource   string `json:"resource"`
	Path       string `json:"path"`
	RouteKey   string `json:"routeKey"`
	RawPath    string `json:"rawPath"`
	RawQuery   string `json:"rawQueryString"`

	Cookies        []string            `json:"cookies"`
	HeadersJSON    json.RawMessage     `json:"headers"`
	Headers        map[string]string   `json:"-"` // HeadersJSON, read if there are no MultiHeaders
	MultiHeaders   map[string][]string `json:"multiValueHeaders"`
	RequestHeaders map[string]string   `json:"requestHeaders"` // of GraphQL
	Query          map[string]string   `json:"queryStringParameters"`
	MultiQuery     map[string][]string `json:"multiValueQueryStringParameters"`
	PathParameters map[string]string   `json:"pathParameters"`

	RequestContext eventContext `json:"requestContext"`
}

type eventContext struct {
	RouteKey  string  `json:"routeKey"`
	Stage     string  `json:"stage"`
	Query     *string `json:"queryString"`   // of GraphQL
	Operation string  `json:"operationName"` // of GraphQL; a connection of subscriptions has no query
	HTTP      struct {
		Method   string `json:"method"`
		SourceIP string `json:"sourceIp"`
	} `json:"http"`
	Identity struct {
		SourceIP string `json:"sourceIp"`
		APIKey   string `json:"apiKey"`
		APIKeyID string `json:"apiKeyId"`
	} `json:"identity"`
}

// token returns the authorization token.
func (ev *event) token() string {
	if ev.Token == nil {
		return ""
	}
	return *ev.Token
}

// eventOf returns the event of a REST API.
func eventOf(ev *RequestEvent) *event {
	own := &event{
		Type: ev.Type, MethodARN: ev.MethodArn, HTTPMethod: ev.HTTPMethod, Resource: ev.Resource, Path: ev.Path,
		Headers: ev.Headers, MultiHeaders: ev.MultiValueHeaders, PathParameters: ev.PathParameters,
		Query: ev.QueryStringParameters, MultiQuery: ev.MultiValueQueryStringParameters,
	}
	own.RequestContext.Stage, own.RequestContext.Identity.SourceIP = ev.RequestContext.Stage, ev.RequestContext.Identity.SourceIP
	return own
}

// readRequest reads an event. The client's address is the one that API Gateway saw,
// whatever the headers say. An event without an address, a path or a method is
// none of a REST API: rules must not count it as a client without an address.
func readRequest(ev *event) (*request.Request, error) {
	if ev.Type != "REQUEST" {
		return nil, fmt.Errorf("event type is %q: the authorizer must be of type REQUEST", ev.Type)
	}
	if err := required(field{"httpMethod", ev.HTTPMethod}, field{"path", ev.Path}); err != nil {
		return nil, err
	}
	ip, err := address("requestContext.identity.sourceIp", ev.RequestContext.Identity.SourceIP)
	if err != nil {
		return nil, err
	}
	below, _ := pathBelow(ev.Path, ev.Resource, ev.PathParameters)
	return &request.Request{
		Method:     ev.HTTPMethod,
		Path:       below,
		Route:      ev.Resource,
		Stage:      ev.RequestContext.Stage,
		IP:         ip,
		Headers:    several(ev.MultiHeaders, ev.Headers),
		Query:      several(ev.MultiQuery, ev.Query),
		PathParams: ev.PathParameters,
	}, nil
}

// field is a field of an event.
type field struct{ name, value string }

// required fails if fields that rules need are empty. It names them.
func required(fields ...field) error {
	var missing []string
	for _, f := range fields {
		if f.value == "" {
			missing = append(missing, f.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("event has no %s", strings.Join(missing, ", no "))
	}
	return nil
}

// address reads the address that the gateway saw.
func address(name, sourceIP string) (netip.Addr, error) {
	if err := required(field{name, sourceIP}); err != nil {
		return netip.Addr{}, err
	}
	ip, err := netip.ParseAddr(sourceIP)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("event's %s: %w", name, err)
	}
	return ip, nil
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
	api, rest, _ := strings.Cut(methodARN, "/")
	stage, _, found := strings.Cut(rest, "/")
	if !found || !strings.HasPrefix(api, "arn:") || stage == "" {
		return "", errors.New("event has no methodArn of the form " + methodARNForm)
	}
	return methodARN[:len(api)+1+len(stage)] + "/*", nil
}

const methodARNForm = "arn:PARTITION:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH"
