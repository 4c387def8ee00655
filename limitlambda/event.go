package limitlambda

import (
	"context"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/request"
)

// kind is an event of any kind.
type kind struct {
	request    *request.Request // what rules see; nil for an event that is not limited
	failed     int              // the status that clients get if the handler fails
	multiValue bool             // the answer needs its fields in MultiValueHeaders
}

// read reads an event; event is a pointer to one of the Event types.
func read(event any) (k kind, err error) {
	k.failed = http.StatusBadGateway
	switch ev := event.(type) {
	case *events.APIGatewayProxyRequest:
		k.request, err = apigw.FromREST(ev)
	case *events.APIGatewayV2HTTPRequest:
		k.failed = http.StatusInternalServerError
		k.request, err = apigw.FromHTTPAPI(ev)
	case *events.LambdaFunctionURLRequest:
		k.request, err = apigw.FromFunctionURL(ev)
	case *events.ALBTargetGroupRequest:
		k.multiValue = ev.MultiValueHeaders != nil
		if !apigw.IsHealthCheck(ev) {
			k.request, err = apigw.FromALB(ev)
		}
	case *events.APIGatewayWebsocketProxyRequest:
		if ev.RequestContext.RouteKey != "$disconnect" {
			k.request, err = apigw.FromWebSocket(ev)
		}
	}
	return k, err
}

type eventKey struct{}

// eventOf returns a pointer to the event that a request stands for.
func eventOf(r *http.Request) any { return r.Context().Value(eventKey{}) }

// http returns the event as options of a middleware take it.
func (k *kind) http(ctx context.Context, event any) *http.Request {
	req := k.request
	header := make(http.Header, len(req.Headers))
	for name, values := range req.Headers {
		name = http.CanonicalHeaderKey(name)
		header[name] = append(header[name], values...)
	}
	path, err := url.PathUnescape(req.Path)
	if err != nil {
		path = req.Path
	}
	r := &http.Request{
		Method: req.Method, URL: &url.URL{Path: path, RawPath: req.Path, RawQuery: url.Values(req.Query).Encode()},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Host: header.Get("Host"), RemoteAddr: req.IP.String(), Body: http.NoBody,
	}
	return r.WithContext(context.WithValue(httplimit.WithRequest(ctx, req), eventKey{}, event))
}
