// Package apigw translates between the events of Lambda authorizers and the
// engine: an event of any kind into a request, and a decision into the answer
// that this kind of gateway takes. It also reads the events of functions that
// answer requests.
package apigw

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// event is what rules need of an event of any kind. The events of all kinds have
// the same types for the same names, so one pass over an event finds its kind and
// reads it. AWS documents these maps of header fields and of query parameters:
//
//	REST API, WebSocket handshake   the last value of each name, and a map with all
//	HTTP API 1.0, function          the same
//	HTTP API 1.0, authorizer        one value; emulators add the map with all
//	HTTP API 2.0, function URL      all values, joined by commas; cookies and the
//	                                query string apart
//	load balancer                   one of the two maps, as its attribute says
//	AppSync                         requestHeaders with one value; no query
//
// So each kind is read alike: the map with all values, where it is complete.
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
	Headers        map[string]string   `json:"-"` // HeadersJSON, read if MultiHeaders is not complete
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

// readRequest reads the event of a REST API ("Input to an API Gateway Lambda
// authorizer" in the AWS documentation), or of an HTTP API with payload version
// 1.0. The client's address is the one that API Gateway saw, whatever the headers
// say. An event without an address, a path or a method is
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
	if ev.Version == httpAPI1 {
		below = pathBelowStage(ev.Path, ev.RequestContext.Stage, ev.Resource, ev.PathParameters)
	}
	return ev.request(ev.HTTPMethod, below, ev.Resource, ip), nil
}

// request returns what the events of all kinds state alike.
func (ev *event) request(method, path, route string, ip netip.Addr) *request.Request {
	req := &request.Request{
		Method: method, Path: path, Route: route, Stage: ev.RequestContext.Stage, IP: ip, NoOperation: true,
		Headers: withCookies(several(ev.MultiHeaders, ev.Headers), ev.Cookies),
		Query:   several(ev.MultiQuery, ev.Query), PathParams: ev.PathParameters,
	}
	// In the parameters that version 2.0 joins, a comma may stand between two values
	// or belong to one. So they count only if the query string has none.
	parameters := req.Query
	if req.SetQuery(ev.RawQuery); ev.RawQuery == "" || len(req.Query) == 0 {
		req.Query = parameters
	}
	if identity := &ev.RequestContext.Identity; ev.Version == "" { // HTTP APIs have no API keys
		req.GatewayKey = keyID(identity.APIKeyID, identity.APIKey)
	}
	return req
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
	ip := request.ParseAddr(sourceIP)
	switch {
	case sourceIP == "test-invoke-source-ip": // of the console and of test-invoke-authorizer
		return ip, errors.New("event is a test by API Gateway (" + sourceIP + "), which has no client to count: send a request to the stage")
	case !ip.IsValid():
		return ip, fmt.Errorf("event's %s %.64q is not an IP address", name, sourceIP)
	}
	return ip, nil
}

// several returns one map of the two that an event may have. A complete map has
// all values, so it is taken alone, and before the other one where both differ.
// Emulators may send it empty, null, or without the values of some names. Those
// names then have the value of last: a token must not get lost.
func several(all map[string][]string, last map[string]string) map[string][]string {
	if isComplete(all) || len(last) == 0 {
		return all
	}
	both := make(map[string][]string, len(last))
	for name, value := range last {
		both[name] = []string{value}
	}
	for name, values := range all {
		if hasValue(values) {
			maps.DeleteFunc(both, func(n string, _ []string) bool { return strings.EqualFold(n, name) })
			both[name] = values
		}
	}
	return both
}

// isComplete reports whether a map has a value for each name, and not none at all.
func isComplete(all map[string][]string) bool {
	for _, values := range all {
		if !hasValue(values) {
			return false
		}
	}
	return len(all) > 0
}

// hasValue is false for null in JSON, alone or as the only value of a list.
func hasValue(values []string) bool {
	return slices.ContainsFunc(values, func(value string) bool { return value != "" })
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
