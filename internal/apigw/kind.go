package apigw

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

// call is an event of any kind.
type call struct {
	request *request.Request
	answer  func(reply) any // in the form that the kind of event asks for
	http    bool            // the event is an HTTP API's
}

// reply is what an answer of any form says.
type reply struct {
	passes   bool // the request goes on to the backend
	context  *Context
	usageKey string // by which the usage plans of a REST API count the request; "" for none
}

// marks are the fields by which kinds of events differ.
type marks struct {
	Type           string  `json:"type"`
	Version        string  `json:"version"`
	Token          *string `json:"authorizationToken"`
	MethodARN      string  `json:"methodArn"`
	RequestContext struct {
		RouteKey  string  `json:"routeKey"`
		Query     *string `json:"queryString"`   // of GraphQL
		Operation string  `json:"operationName"` // of GraphQL; a connection of subscriptions has no query
		Identity  struct {
			APIKey   string `json:"apiKey"`
			APIKeyID string `json:"apiKeyId"`
		} `json:"identity"`
	} `json:"requestContext"`
}

// withKey adds the id of the API key that API Gateway has found for a request.
func (m *marks) withKey(c call, err error) (call, error) {
	if about := &m.RequestContext.Identity; err == nil {
		c.request.GatewayKey = keyID(about.APIKeyID, about.APIKey)
	}
	return c, err
}

// keyID returns the id of an API Gateway key. A client cannot state it, because
// requestContext is the gateway's own. Old keys may have their value for an id:
// that is a secret, which must not become part of counters and logs.
func keyID(id, value string) string {
	if id == value {
		return ""
	}
	return id
}

// isHTTPAPI1 tells a version 1.0 event of an HTTP API from one of a REST API,
// which has no version.
func (m *marks) isHTTPAPI1() bool { return m.Type == "REQUEST" && m.Version == "1.0" }

func (m *marks) isHTTPAPI2() bool { return m.Type == "REQUEST" && m.Version == "2.0" }

func (m *marks) isWebSocket() bool {
	return m.Type == "REQUEST" && m.Version == "" && strings.HasPrefix(m.RequestContext.RouteKey, "$")
}

func (m *marks) isREST() bool { return m.Type == "REQUEST" && m.Version == "" }

func (m *marks) isToken() bool { return m.Type == "TOKEN" }

func (m *marks) isAppSync() bool {
	return m.Type == "" && m.MethodARN == "" && m.Token != nil && (m.RequestContext.Query != nil || m.RequestContext.Operation != "")
}

// read finds the kind of an event, and reads the event.
func (a *Authorizer) read(event []byte) (call, error) {
	var m marks
	if err := json.Unmarshal(event, &m); err != nil {
		return call{}, fmt.Errorf("event is no authorizer's: %w", err)
	}
	switch {
	case m.isHTTPAPI2():
		return readAs(event, a.readHTTPAPI2)
	case m.isHTTPAPI1():
		return readAs(event, readHTTPAPI1)
	case m.isWebSocket():
		return m.withKey(readAs(event, readWebSocket))
	case m.isREST():
		return m.withKey(readAs(event, readREST))
	case m.isToken():
		return readAs(event, readToken)
	case m.isAppSync():
		return readAs(event, readAppSync)
	}
	return call{}, unknownKind(event, &m)
}

func readAs[E any](event []byte, read func(*E) (call, error)) (call, error) {
	var ev E
	if err := json.Unmarshal(event, &ev); err != nil {
		return call{}, fmt.Errorf("event has another form than AWS documents: %w", err)
	}
	return read(&ev)
}

// unknownKind describes an event by its type, version and fields. The values of
// other fields may be secret.
func unknownKind(event []byte, m *marks) error {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(event, &fields) // marks have been read, so it is an object or null
	names := slices.Sorted(maps.Keys(fields))
	if len(names) > maxFields {
		names = append(names[:maxFields], "…")
	}
	return fmt.Errorf("event is of no known kind: type %.32q, version %.32q, fields [%s]: "+
		"attach this function as a Lambda authorizer of a REST, HTTP, WebSocket or AppSync API",
		m.Type, m.Version, strings.Join(names, " "))
}

// maxFields is how many fields of an unknown event are named.
const maxFields = 20

// readREST reads the event of a REST API's REQUEST authorizer.
func readREST(ev *RequestEvent) (call, error) {
	req, err := readRequest(ev)
	if err != nil {
		return call{}, err
	}
	return withUsageKey(byPolicy(req, ev.MethodArn))
}

// withUsageKey adds the key by which usage plans count the request. API Gateway
// reads it if the API's source of keys is AUTHORIZER.
func withUsageKey(c call, err error) (call, error) {
	byPolicy := c.answer
	c.answer = func(r reply) any {
		answer := byPolicy(r).(Response)
		answer.UsageIdentifierKey = r.usageKey
		return answer
	}
	return c, err
}

// byPolicy answers by an IAM policy for the stage of an ARN.
func byPolicy(req *request.Request, methodARN string) (call, error) {
	resource, err := stageARN(methodARN)
	if err != nil {
		return call{}, err
	}
	return call{request: req, answer: func(r reply) any { return policy(r.passes, resource, r.context) }}, nil
}
