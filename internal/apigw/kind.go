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
	answer  func(passes bool, context map[string]any) any // in the form that the kind of event asks for
	http    bool                                          // the event is an HTTP API's
}

// marks are the fields by which kinds of events differ.
type marks struct {
	Type           string  `json:"type"`
	Version        string  `json:"version"`
	Token          *string `json:"authorizationToken"`
	MethodARN      string  `json:"methodArn"`
	RequestContext struct {
		RouteKey    string  `json:"routeKey"`
		QueryString *string `json:"queryString"`
	} `json:"requestContext"`
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
	return m.Type == "" && m.MethodARN == "" && m.Token != nil && m.RequestContext.QueryString != nil
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
		return readAs(event, readWebSocket)
	case m.isREST():
		return readAs(event, readREST)
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
	return byPolicy(req, ev.MethodArn)
}

// byPolicy answers by an IAM policy for the stage of an ARN.
func byPolicy(req *request.Request, methodARN string) (call, error) {
	resource, err := stageARN(methodARN)
	if err != nil {
		return call{}, err
	}
	return call{request: req, answer: func(passes bool, context map[string]any) any {
		return policyAnswer(passes, resource, context)
	}}, nil
}
