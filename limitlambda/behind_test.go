package limitlambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/limitlambda"
)

// authorizer is Slidegate's Lambda authorizer in front of a function, and passes
// denials on. Both share a store.
type authorizer struct {
	*apigw.Authorizer
	store slidegate.Store
}

func newAuthorizer(t *testing.T, document string, now func() time.Time) authorizer {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	quiet, store := slog.New(slog.DiscardHandler), slidegate.NewMemory(0)
	a := apigw.NewAuthorizer(app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store.Driver()}), now)
	a.PassDenials, a.Receipts = true, receipt.NewIssuer(nil, quiet)
	return authorizer{a, store}
}

// request returns the event of an HTTP API's request, as it comes to the function
// after the authorizer.
func (a authorizer) request(t *testing.T, headers map[string]string) httpRequest {
	t.Helper()
	ev := request("GET", "/", headers)
	asked, err := json.Marshal(map[string]any{
		"version": "2.0", "type": "REQUEST", "routeArn": "arn:aws:execute-api:us-east-1:123456789012:abcdef123/test/GET/",
		"routeKey": ev.RouteKey, "rawPath": ev.RawPath, "headers": headers, "requestContext": ev.RequestContext,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.Handle(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	simple, ok := answer.(apigw.SimpleResponse)
	if !ok || !simple.IsAuthorized {
		t.Fatalf("the authorizer answers %+v", answer)
	}
	ev.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: simple.Context.Map()}
	return ev
}

func frozen() time.Time { return noon }

const settlingBehind = `rules: [{name: chat, key: all, refund_on: [503], limits: [{capacity: 100, window: 60s, cost: {from: header.x-tokens, min: 1, max: 90, settle: true}}]}]`

// TestBehind: the charge is corrected by the answer, and the client sees what the
// authorizer's decision says.
func TestBehind(t *testing.T) {
	failure := errors.New("boom")
	cost := func(n int) httpAnswer {
		return httpAnswer{StatusCode: 200, Headers: map[string]string{"Slidegate-Cost": fmt.Sprint("chat=", n), "Access-Control-Allow-Origin": "*"}}
	}
	for name, test := range map[string]struct {
		answer httpAnswer
		err    error
		left   string // of 100, after 10 and the correction, and 10 more
	}{
		"no cost":       {httpAnswer{StatusCode: 200}, nil, "80"},
		"the true cost": {cost(2), nil, "88"},
		"a refund":      {httpAnswer{StatusCode: 503}, nil, "90"},
		"an error":      {httpAnswer{}, failure, "0"},
	} {
		a := newAuthorizer(t, settlingBehind, frozen)
		handler := limitlambda.Behind(a.store, answering(test.answer, test.err), slidegate.WithClock(frozen))
		reserving := map[string]string{"x-tokens": "10"}
		got, err := handler(t.Context(), a.request(t, reserving))
		if !errors.Is(err, test.err) || err == nil && (got.StatusCode != test.answer.StatusCode || got.Headers["X-RateLimit-Remaining"] != "90") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if got.Headers["Slidegate-Cost"] != "" || (got.Headers["Access-Control-Expose-Headers"] == "") != (got.Headers["Access-Control-Allow-Origin"] == "") {
			t.Errorf("%s: fields %v", name, got.Headers)
		}
		next := a.request(t, reserving)
		if left := next.RequestContext.Authorizer.Lambda["remaining"]; left != test.left {
			t.Errorf("%s: %v left, want %s", name, left, test.left)
		}
	}
}

// TestPassedDenials: the function answers for an HTTP API's authorizer, without a
// call of the handler.
func TestPassedDenials(t *testing.T) {
	for name, test := range map[string]struct{ rules, want string }{
		"problem details": {``, `429 61 application/problem+json "all";r=0;t=61 ` +
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["all"]}` + "\n"},
		"the rules' answer": {`denied: {status: 503, content_type: text/plain, body: "wait {retryAfter}"}`, `503 61 text/plain "all";r=0;t=61 wait 61`},
	} {
		a := newAuthorizer(t, test.rules+"\nrules: [{name: all, key: all, limit: 1/minute}]", frozen)
		calls := 0
		handler := limitlambda.Behind(a.store, func(context.Context, httpRequest) (httpAnswer, error) {
			calls++
			return httpAnswer{StatusCode: 200}, nil
		})
		for range 2 {
			got, err := handler(t.Context(), a.request(t, nil))
			if err != nil || got.StatusCode == 200 {
				continue
			}
			if text := fmt.Sprint(got.StatusCode, " ", got.Headers["Retry-After"], " ", got.Headers["Content-Type"], " ", got.Headers["RateLimit"], " ", got.Body); text != test.want ||
				got.Headers["Access-Control-Allow-Origin"] != "*" {
				t.Errorf("%s: %s %v; want %s", name, text, got.Headers, test.want)
			}
		}
		if calls != 1 {
			t.Errorf("%s: %d calls of the handler, want 1", name, calls)
		}
	}
}

// TestPassedToAnotherKind: a handler's type does not fit the API's payload version.
// The denial then stands elsewhere in the event, so the handler must not run.
func TestPassedToAnotherKind(t *testing.T) {
	store := slidegate.NewMemory(0)
	denied := func(name, key string) []byte {
		var ev map[string]any
		if err := json.Unmarshal(eventFile(t, name), &ev); err != nil {
			t.Fatal(err)
		}
		about := map[string]any{"allowed": "false", "retryAfter": "9"}
		if key != "" {
			about = map[string]any{key: about}
		}
		ev["requestContext"].(map[string]any)["authorizer"] = about
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	v1, v2 := denied("http-1.0", ""), denied("http", "lambda")
	for name, test := range map[string]struct {
		handler any
		event   []byte
		want    string
	}{
		"1.0":                            {limitlambda.Behind(store, rest), v1, `"statusCode": 429`},
		"2.0":                            {limitlambda.Behind(store, httpAPI), v2, `"statusCode": 429`},
		"2.0 to a handler of 1.0":        {limitlambda.Behind(store, rest), v2, "error: limitlambda: event has no httpMethod"},
		"1.0 to a handler of 2.0":        {limitlambda.Behind(store, httpAPI), v1, "error: limitlambda: event has no requestContext.http.method"},
		"2.0 to a handler of WebSockets": {limitlambda.Behind(store, webSocket), v2, "error: limitlambda: event has no requestContext"},
	} {
		if got := invoke(t, test.handler, test.event); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}

// TestBehindDelays: a request waits as the authorizer says, but not beyond the
// function's deadline or ten seconds.
func TestBehindDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthorizer(t, `rules: [{name: pace, key: all, limits: [{capacity: 1, window: 4s, algorithm: leaky_bucket, queue: 9}]}]`, time.Now)
		handler := limitlambda.Behind(a.store, answering(httpAnswer{StatusCode: 200}, nil))
		for i, test := range []struct {
			within time.Duration
			want   string
		}{{time.Minute, "0s 200 "}, {time.Minute, "4s 200 "}, {3 * time.Second, "0s 429 4"}, {time.Minute, "8s 200 "}, {time.Minute, "4s 200 "}} {
			ctx, cancel := context.WithTimeout(t.Context(), test.within)
			ev := a.request(t, nil)
			start := time.Now()
			got, err := handler(ctx, ev)
			if did := fmt.Sprint(time.Since(start), " ", got.StatusCode, " ", got.Headers["Retry-After"]); err != nil || did != test.want {
				t.Errorf("request %d: %s, %v; want %s", i, did, err, test.want)
			}
			cancel()
		}
		for range 2 {
			a.request(t, nil)
		}
		if got, err := handler(t.Context(), a.request(t, nil)); err != nil || got.StatusCode != 429 || got.Headers["Retry-After"] != "12" {
			t.Errorf("after more than ten seconds: %+v, %v", got, err)
		}
	})
}

// TestBehindOthers: events without Slidegate's context pass as they are, also those
// that Wrap would refuse.
func TestBehindOthers(t *testing.T) {
	var log bytes.Buffer
	store := slidegate.NewMemory(0)
	logging := slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
	for name, handler := range map[string]any{
		"rest": limitlambda.Behind(store, rest, logging), "rest-lambda": limitlambda.Behind(store, rest, logging),
		"http": limitlambda.Behind(store, httpAPI, logging), "http-lambda": limitlambda.Behind(store, httpAPI, logging),
		"websocket-message": limitlambda.Behind(store, webSocket, logging), "websocket-disconnect": limitlambda.Behind(store, webSocket, logging),
	} {
		for _, event := range []string{string(eventFile(t, name)), strings.ReplaceAll(string(eventFile(t, name)), "sourceIp", "x")} {
			got := invoke(t, handler, []byte(event))
			if !strings.Contains(got, `"statusCode": 200`) || strings.Contains(strings.ToLower(got), "ratelimit\"") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}

// TestBehindWebSocket: the receipt of a handshake is in the context of each of its
// messages, and settles the handshake alone.
func TestBehindWebSocket(t *testing.T) {
	a := newAuthorizer(t, settlingBehind, frozen)
	context := a.request(t, map[string]string{"x-tokens": "10"}).RequestContext.Authorizer.Lambda
	var log bytes.Buffer
	handler := limitlambda.Behind(a.store, webSocket, slidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	ev := events.APIGatewayWebsocketProxyRequest{}
	ev.RequestContext.ConnectionID, ev.RequestContext.Authorizer = "c", context
	for _, route := range []string{"$connect", "$default", "sendMessage", "$disconnect"} {
		ev.RequestContext.RouteKey = route
		got, err := handler(t.Context(), ev)
		if err != nil || got.StatusCode != 200 || (got.Headers["X-RateLimit-Remaining"] == "90") != (route == "$connect") {
			t.Errorf("%s: %+v, %v", route, got, err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}
