package limitlambda

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/limithttp"
)

// Event is an event that stands for a request: of a REST API, or an HTTP API with
// payload version 1.0; of an HTTP API with version 2.0; of a WebSocket API; of a
// function URL; of an Application Load Balancer.
type Event interface {
	events.APIGatewayProxyRequest | events.APIGatewayV2HTTPRequest | events.APIGatewayWebsocketProxyRequest |
		events.LambdaFunctionURLRequest | events.ALBTargetGroupRequest
}

// Response is an answer to an Event. AWS says which of them each kind of event
// takes; for a WebSocket API it is an APIGatewayProxyResponse.
type Response interface {
	events.APIGatewayProxyResponse | events.APIGatewayV2HTTPResponse | events.LambdaFunctionURLResponse | events.ALBTargetGroupResponse
}

// Handler is a handler for lambda.Start of aws-lambda-go.
type Handler[E Event, R Response] func(context.Context, E) (R, error)

// Wrap limits the events of a handler by the gate's rules.
//
// Answers carry the fields of the limits. A denied event gets status 429 with
// Retry-After and problem details, or what the rules say; a script of any origin
// may read it. Without a decision the status is 503. CORS preflights pass
// freely, unless a ban refuses them or a rule names OPTIONS.
//
// Where a rule settles, the handler reports the true cost of a request in the
// field Slidegate-Cost of its answer, such as "chat.tokens=512". Clients do not
// see it. RefundOn and refund_on take the status of its answer. A handler that
// returns an error counts as status 502, on HTTP APIs as 500, as clients see it,
// and like one that panics as an answer that broke off: limits that settle charge
// the most.
//
// The options are those of [limithttp.GateMiddleware], and [TrustAuthorizer].
// Their http.Request has the event's fields, and no body.
//
// A client never sees the status of a denied WebSocket message. It gets the body
// if the route has a route response (two-way communication), and nothing
// otherwise. A denied $connect fails the handshake with the status.
//
// An event that lacks what rules need, such as the client's address, is an error.
func Wrap[E Event, R Response](g *gate.Gate, handler Handler[E, R], options ...limithttp.GateOption) Handler[E, R] {
	return wrap(read, limithttp.GateMiddleware(g, options...), handler)
}

// WrapLimiter limits the events of a handler by a limiter, as Wrap does by a gate.
// The key is what a function makes of an event, such as a claim of its token:
//
//	func(ev events.APIGatewayV2HTTPRequest) string { return "user:" + ev.RequestContext.Authorizer.JWT.Claims["sub"] }
//
// A nil key counts by the client's address, or as an option says. WrapLimiter
// takes the options of [limithttp.Middleware].
func WrapLimiter[E Event, R Response](
	lim *slidegate.Limiter, key func(E) string, handler Handler[E, R], options ...limithttp.Option,
) Handler[E, R] {
	if key != nil {
		byEvent := limithttp.ByKey(func(r *http.Request) string { return key(*eventOf(r).(*E)) })
		options = append([]limithttp.Option{byEvent}, options...)
	}
	return wrap(read, limithttp.Middleware(lim, options...), handler)
}

// TrustAuthorizer uses the context of the API's Lambda authorizer as the caller's
// verified claims, and every such caller as known: {jwt.tenant} is the value that
// the authorizer returned as tenant. Give it only if the authorizer verifies what
// it returns, and returns nothing that a client has made up.
func TrustAuthorizer() limithttp.GateOption {
	return limithttp.WithRequest(func(r *http.Request, of *gate.Request) {
		if claims := apigw.LambdaContext(eventOf(r)); claims != nil {
			of.Claims = claims
		}
	})
}

// wrap limits the events of a handler by a middleware.
func wrap[E Event, R Response](
	read func(event any) (kind, error), limit func(http.Handler) http.Handler, handler Handler[E, R],
) Handler[E, R] {
	return func(ctx context.Context, ev E) (answer R, err error) {
		kind, err := read(&ev)
		switch {
		case err != nil:
			return answer, fmt.Errorf("limitlambda: %w", err)
		case kind.request == nil:
			return handler(ctx, ev)
		}
		fields, w, passed := fieldsOf(&answer, kind.multiValue), &writer{header: http.Header{}}, false
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed = true
			if answer, err = handler(r.Context(), ev); err != nil {
				w.WriteHeader(kind.failed)
				panic(http.ErrAbortHandler) // the limiter then sees an answer that broke off
			}
			maps.Copy(w.Header(), fields.header())
			w.WriteHeader(fields.validStatus(kind.failed))
		})
		defer func() {
			if err != nil {
				_ = recover()
			}
		}()
		limit(next).ServeHTTP(w, kind.http(ctx, &ev))
		if passed {
			fields.merge(w.header)
		} else {
			fields.answer(w)
		}
		return answer, nil
	}
}
