package limitlambda

import (
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/httplimit"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/limithttp"
)

// AuthorizedEvent is an Event of an API that can have a Lambda authorizer.
type AuthorizedEvent interface {
	events.APIGatewayProxyRequest | events.APIGatewayV2HTTPRequest | events.APIGatewayWebsocketProxyRequest
}

// Behind is for a handler behind Slidegate's Lambda authorizer. It does not decide a
// second time, and needs no rules. By the authorizer's context it
//
//   - answers 429, with all fields and problem details or what the rules say, to a
//     request of an HTTP API that the authorizer has denied and passed on
//     (SLIDEGATE_PASS_DENIALS);
//   - waits for the turn of a request in a leaky bucket, or answers 429 if that
//     comes after 10 seconds or the function's deadline;
//   - adds the fields of the limits to the handler's answer;
//   - corrects the charge by the handler's answer, as Wrap does, through the
//     authorizer's receipt. The store is that of the authorizer's counters. The
//     function's role needs dynamodb:UpdateItem on that table.
//
// An event without such a context passes as it is: a route without the authorizer,
// or a message of a WebSocket API, which has the context of its handshake. An event
// of another kind than E is an error, such as one with payload version 2.0 for an
// APIGatewayProxyRequest.
//
// The options are those of [limithttp.SettleMiddleware]. Behind panics for a store
// that is nil: programs call it when they start.
func Behind[E AuthorizedEvent, R Response](store slidegate.Store, handler Handler[E, R], options ...limithttp.SettleOption) Handler[E, R] {
	if store == nil {
		panic("limitlambda: Behind: the store is nil: open that of the authorizer's counters")
	}
	c := setup.Config{}
	slidegate.WithStore(store).ForGate(&c)
	if err := setup.Apply(&c, options, func(o limithttp.SettleOption) { o.ForSettling(&c) }); err != nil {
		panic("limitlambda: Behind: " + err.Error())
	}
	stated := func(r *http.Request) string { return contextOf(r).Receipt }
	settle := httplimit.SettleByContext(&c, stated)
	return wrap(readBehind, func(next http.Handler) http.Handler { return behind(settle(next)) }, handler)
}

// readBehind reads an event. It may lack what rules need. An event of another kind
// than the handler's is an error: the authorizer's denial stands elsewhere in it.
func readBehind(event any) (kind, error) {
	k, err := read(event)
	if err != nil && isOwnKind(event) {
		k.request, err = &request.Request{Method: http.MethodGet, Path: "/"}, nil
	}
	return k, err
}

// isOwnKind reports whether an event has what every one of its type has.
func isOwnKind(event any) bool {
	switch ev := event.(type) {
	case *events.APIGatewayProxyRequest:
		return ev.HTTPMethod != ""
	case *events.APIGatewayV2HTTPRequest:
		return ev.RequestContext.HTTP.Method != ""
	case *events.APIGatewayWebsocketProxyRequest:
		return ev.RequestContext.ConnectionID != ""
	}
	return false
}

// contextOf returns the context of a Lambda authorizer, which the request was
// decided by; an empty one for none.
func contextOf(r *http.Request) *apigw.Context {
	event := eventOf(r)
	if message, ok := event.(*events.APIGatewayWebsocketProxyRequest); ok && message.RequestContext.RouteKey != "$connect" {
		return &apigw.Context{}
	}
	return apigw.ContextOf(apigw.LambdaContext(event))
}

// behind answers by the authorizer's context, or lets the next handler answer.
func behind(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context := contextOf(r)
		delay := context.Delay()
		if delay > rules.LongestHold || clock.EndsBefore(r.Context(), delay) {
			context = context.TooLong()
		}
		if denial, fields, denied := context.Denial(); denied {
			set(w.Header(), fields)
			w.WriteHeader(denial.Status)
			_, _ = io.WriteString(w, denial.Body)
			return
		}
		if err := clock.Sleep(r.Context(), delay); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // nothing waits for the answer
			return
		}
		set(w.Header(), context.Fields())
		next.ServeHTTP(w, r)
		headers.Expose(w.Header())
	})
}

func set(h http.Header, fields map[string]string) {
	for name, value := range fields {
		h.Set(name, value)
	}
}
