package apigw

import (
	"encoding/json"
	"errors"
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
	passes    bool // the request goes on to the backend
	context   *Context
	usageKey  string // by which the usage plans of a REST API count the request; "" for none
	principal string // the caller's subject; "" for none
}

// withKey adds the id of the API key that API Gateway has found for a request.
func (ev *event) withKey(c call, err error) (call, error) {
	if about := &ev.RequestContext.Identity; err == nil {
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
func (ev *event) isHTTPAPI1() bool { return ev.Type == "REQUEST" && ev.Version == "1.0" }

func (ev *event) isHTTPAPI2() bool { return ev.Type == "REQUEST" && ev.Version == "2.0" }

func (ev *event) isWebSocket() bool {
	return ev.Type == "REQUEST" && ev.Version == "" && strings.HasPrefix(ev.RequestContext.RouteKey, "$")
}

func (ev *event) isREST() bool { return ev.Type == "REQUEST" && ev.Version == "" }

func (ev *event) isToken() bool { return ev.Type == "TOKEN" }

func (ev *event) isAppSync() bool {
	return ev.Type == "" && ev.MethodARN == "" && ev.Token != nil && (ev.RequestContext.Query != nil || ev.RequestContext.Operation != "")
}

// read finds the kind of an event, and reads the event.
func (a *Authorizer) read(data []byte) (call, error) {
	var ev event
	if err := ev.decode(data); err != nil {
		return call{}, err
	}
	switch {
	case ev.isHTTPAPI2():
		return a.readHTTPAPI2(&ev)
	case ev.isHTTPAPI1():
		return readHTTPAPI1(&ev)
	case ev.isWebSocket():
		return ev.withKey(readWebSocket(&ev))
	case ev.isREST():
		return ev.withKey(readREST(&ev))
	case ev.isToken():
		return readToken(&ev)
	case ev.isAppSync():
		return readAppSync(&ev)
	}
	return call{}, unknownKind(data, &ev)
}

func (ev *event) decode(data []byte) error {
	const otherForm = "event has another form than AWS documents: %w"
	if err := json.Unmarshal(data, ev); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
			return fmt.Errorf(otherForm, err)
		}
		return fmt.Errorf("event is no authorizer's: %w", err)
	}
	if len(ev.MultiHeaders) == 0 && ev.HeadersJSON != nil {
		if err := json.Unmarshal(ev.HeadersJSON, &ev.Headers); err != nil {
			return fmt.Errorf(otherForm, err)
		}
	}
	return nil
}

// unknownKind describes an event by its type, version and fields. The values of
// other fields may be secret.
func unknownKind(data []byte, ev *event) error {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // it has been read, so it is an object or null
	names := slices.Sorted(maps.Keys(fields))
	if len(names) > maxFields {
		names = append(names[:maxFields], "…")
	}
	return fmt.Errorf("event is of no known kind: type %.32q, version %.32q, fields [%s]: "+
		"attach this function as a Lambda authorizer of a REST, HTTP, WebSocket or AppSync API",
		ev.Type, ev.Version, strings.Join(names, " "))
}

// maxFields is how many fields of an unknown event are named.
const maxFields = 20

// readREST reads the event of a REST API's REQUEST authorizer.
func readREST(ev *event) (call, error) {
	req, err := readRequest(ev)
	if err != nil {
		return call{}, err
	}
	return withUsageKey(byPolicy(req, ev.MethodARN))
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
	return call{request: req, answer: func(r reply) any { return policy(resource, r) }}, nil
}
