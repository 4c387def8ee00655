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
	request  *request.Request
	resource string // of the policy that answers it; "" for an answer without a policy
	http     bool   // the event is an HTTP API's
}

// answer returns a reply in the form that the kind of event asks for.
func (c *call) answer(r reply) any {
	switch {
	case c.resource != "":
		return policy(c.resource, r)
	case c.http:
		return SimpleResponse{IsAuthorized: r.passes, Context: r.context}
	}
	never := 0 // AppSync caches answers otherwise
	return appSyncAnswer{IsAuthorized: r.passes, ResolverContext: r.context, TTLOverride: &never}
}

// reply is what an answer of any form says.
type reply struct {
	passes    bool // the request goes on to the backend
	context   *Context
	usageKey  string // by which the usage plans of a REST API count the request; "" for none
	principal string // the caller's subject; "" for none
}

// keyID returns the id of an API Gateway key. A client cannot state it, because
// requestContext is the gateway's own. The id of an old key may equal its secret
// value, which must not become part of counters and logs.
func keyID(id, value string) string {
	if id == value {
		return ""
	}
	return id
}

// read finds the kind of an event, and reads the event.
func (a *Authorizer) read(data []byte) (c call, err error) {
	var ev event
	if err := ev.decode(data); err != nil {
		return c, err
	}
	arn, isRequest := ev.MethodARN, ev.Type == "REQUEST"
	c.http = isRequest && (ev.Version == httpAPI1 || ev.Version == httpAPI2)
	switch {
	case c.http && ev.Version == httpAPI2:
		if c.request, err = readHTTPAPI2(&ev); !a.Policies {
			return c, err
		}
		arn = ev.RouteARN
	case isRequest && ev.Version == "" && strings.HasPrefix(ev.RequestContext.RouteKey, "$"):
		c.request, err = readWebSocket(&ev)
	case c.http || isRequest && ev.Version == "":
		c.request, err = readRequest(&ev)
	case ev.Type == "TOKEN":
		c.request, err = readToken(&ev)
	case ev.Type == "" && ev.MethodARN == "" && ev.Token != nil && (ev.RequestContext.Query != nil || ev.RequestContext.Operation != ""): // AppSync
		c.request = readAppSync(&ev)
		return c, err
	default:
		return c, unknownKind(data, &ev)
	}
	if err == nil {
		c.resource, err = stageARN(arn)
	}
	return c, err
}

func (ev *event) decode(data []byte) error {
	const otherForm = "event has another form than AWS documents: %w"
	if err := json.Unmarshal(data, ev); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
			return fmt.Errorf(otherForm, err)
		}
		return fmt.Errorf("event is no authorizer's: %w", err)
	}
	if !isComplete(ev.MultiHeaders) && ev.HeadersJSON != nil {
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
