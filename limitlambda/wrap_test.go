package limitlambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/internal/test/golden"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/limittest"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// newGate returns a gate by a document, on a clock that stands still.
func newGate(t testing.TB, document string, options ...gate.Option) *gate.Gate {
	t.Helper()
	rules, err := rulesfile.Parse("rules.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(rules, append([]gate.Option{
		slidegate.WithClock(limittest.NewClock(noon).Now), slidegate.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func newLimiter(t *testing.T, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

func eventFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".event.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// invoke sends an event through the runtime's own encoding.
func invoke(t testing.TB, handler any, event []byte) string {
	t.Helper()
	answer, err := lambda.NewHandler(handler).Invoke(t.Context(), event)
	if err != nil {
		return "error: " + err.Error()
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, answer, "", "  "); err != nil {
		t.Fatal(err)
	}
	return indented.String()
}

// The handlers answer a request of each kind. Scripts of one origin may read it.
var ownHeaders = map[string]string{"Content-Type": "text/plain", "Access-Control-Allow-Origin": "https://app.example.com"}

func rest(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return events.APIGatewayProxyResponse{StatusCode: 200, Headers: ownHeaders, Body: "hello"}, nil
}

func httpAPI(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: ownHeaders, Body: "hello", Cookies: []string{"a=b"}}, nil
}

func functionURL(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return events.LambdaFunctionURLResponse{StatusCode: 200, Headers: ownHeaders, Body: "hello"}, nil
}

func alb(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	return events.ALBTargetGroupResponse{StatusCode: 200, StatusDescription: "200 OK", Headers: ownHeaders, Body: "hello"}, nil
}

func albMulti(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	multi := map[string][]string{"Content-Type": {"text/plain"}, "Set-Cookie": {"a=b", "c=d"}}
	return events.ALBTargetGroupResponse{StatusCode: 200, StatusDescription: "200 OK", MultiValueHeaders: multi, Body: "hello"}, nil
}

func webSocket(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	return events.APIGatewayProxyResponse{StatusCode: 200, Body: "hello"}, nil
}

const perItem = `rules: [{name: item, when: {methods: [GET], path: /v1/items/*}, limit: 1/minute,
  key: "{stage}|{route}|{ip}|{path.id}|{header.x-user}|{query.page}|{header.cookie}|{apikey}|{jwt.sub}|{jwt.cognito:groups}|{jwt.userArn}|{jwt.cognitoIdentityId}|{jwt.tenant}|{jwt.seats}"}]`

// kinds are events of every kind, by the names of their files.
var kinds = map[string]struct {
	rules string
	wrap  func(*gate.Gate) any
}{
	"rest":        {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, rest) }},
	"rest-iam":    {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, rest) }},
	"rest-lambda": {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, rest, limitlambda.TrustAuthorizer()) }},
	"http":        {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, httpAPI) }},
	"http-1.0":    {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, rest) }},
	"http-iam":    {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, httpAPI) }},
	"http-lambda": {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, httpAPI, limitlambda.TrustAuthorizer()) }},

	"function-url": {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, functionURL) }},
	"alb":          {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, alb) }},
	"alb-multi":    {perItem, func(g *gate.Gate) any { return limitlambda.Wrap(g, albMulti) }},

	"websocket-connect": {
		`rules: [{name: connect, when: {methods: [GET], route: $connect}, key: "{stage}|{ip}|{header.x-user}|{path.connectionId}", limit: 1/minute}]`,
		func(g *gate.Gate) any { return limitlambda.Wrap(g, webSocket) },
	},
	"websocket-message": {
		`rules: [{name: message, when: {methods: [POST]}, key: "{stage}|{route}|{ip}|{jwt.tenant}|{path.connectionId}", limit: 1/minute}]`,
		func(g *gate.Gate) any { return limitlambda.Wrap(g, webSocket, limitlambda.TrustAuthorizer()) },
	},
	"websocket-route": {
		`rules: [{name: send, when: {route: /sendMessage}, key: "{stage}|{route}|{ip}|{jwt.tenant}", limit: 1/minute}]`,
		func(g *gate.Gate) any { return limitlambda.Wrap(g, webSocket) },
	},
	"websocket-disconnect": {
		`rules: [{name: all, key: all, limit: 1/minute}]`,
		func(g *gate.Gate) any { return limitlambda.Wrap(g, webSocket) },
	},
}

// TestKinds sends an event of each kind twice, and compares both answers and the
// keys with a file.
func TestKinds(t *testing.T) {
	for name, test := range kinds {
		t.Run(name, func(t *testing.T) {
			var seen limittest.Recorder
			handler := test.wrap(newGate(t, test.rules, slidegate.WithObserver(seen.Observe)))
			got := invoke(t, handler, eventFile(t, name)) + "\n" + invoke(t, handler, eventFile(t, name)) + "\n"
			for _, e := range seen.Events() {
				got += strings.TrimSpace(e.Rule+" "+e.Key) + "\n"
			}
			golden.Check(t, filepath.Join("testdata", name+".golden"), got)
		})
	}
}

type (
	restRequest = events.APIGatewayProxyRequest
	httpRequest = events.APIGatewayV2HTTPRequest
	httpAnswer  = events.APIGatewayV2HTTPResponse
)

// request returns the event of an HTTP API.
func request(method, path string, headers map[string]string) httpRequest {
	ev := httpRequest{RouteKey: "$default", RawPath: path, Headers: headers}
	ev.RequestContext.Stage = "$default"
	ev.RequestContext.HTTP.Method, ev.RequestContext.HTTP.SourceIP = method, "203.0.113.9"
	return ev
}

// answering returns a handler that always answers alike.
func answering(a httpAnswer, err error) limitlambda.Handler[httpRequest, httpAnswer] {
	return func(context.Context, httpRequest) (httpAnswer, error) { return a, err }
}

const settling = `rules: [{name: chat, key: all, refund_on: [503, 404],
  limits: [{name: tokens, capacity: 1000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 900, settle: true}}]}]`

// TestOutcomes: the charge of a request is corrected by what the handler answers.
// The gate's rule reserves 300 units, and the next request shows what is left.
func TestOutcomes(t *testing.T) {
	header := func(status int, value string) httpAnswer {
		return httpAnswer{StatusCode: status, Headers: map[string]string{"slidegate-cost": value}}
	}
	reserving := request("GET", "/", map[string]string{"x-tokens": "300"})
	for name, test := range map[string]struct {
		answer httpAnswer
		left   string // after another 300
	}{
		"no cost":            {httpAnswer{StatusCode: 200}, "400"},
		"the true cost":      {header(200, "chat.tokens=20"), "680"},
		"a higher cost":      {header(200, "chat.tokens=600"), "100"},
		"several values":     {httpAnswer{StatusCode: 200, MultiValueHeaders: map[string][]string{"Slidegate-Cost": {"x=1", "chat.tokens=20"}}}, "680"},
		"malformed":          {header(200, "chat.tokens=many"), "400"},
		"a refund":           {httpAnswer{StatusCode: 503}, "700"},
		"another status":     {httpAnswer{StatusCode: 502}, "400"},
		"an answer, invalid": {httpAnswer{}, "400"},
	} {
		g := newGate(t, settling)
		got, err := limitlambda.Wrap(g, answering(test.answer, nil))(t.Context(), reserving)
		if err != nil || got.Headers["slidegate-cost"] != "" || len(got.MultiValueHeaders) != 0 {
			t.Errorf("%s: the client sees %v %v, %v", name, got.Headers, got.MultiValueHeaders, err)
		}
		left, err := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil))(t.Context(), reserving)
		if err != nil || left.Headers["X-RateLimit-Remaining"] != test.left {
			t.Errorf("%s: %v left, %v; want %s", name, left.Headers, err, test.left)
		}
	}
}

// TestBrokenOff: a handler that fails or panics leaves a limit that settles at the
// most that a request may cost, unless its status is refunded. The error or the
// panic reaches the runtime.
func TestBrokenOff(t *testing.T) {
	failure := errors.New("boom")
	for name, test := range map[string]struct {
		refundOn string
		broken   any
		left     string
	}{
		"an error":              {"404", failure, "90"},
		"a panic":               {"404", "boom", "90"},
		"an error is a 500":     {"500", failure, "990"},
		"a panic has no status": {"5xx", "boom", "90"},
	} {
		g := newGate(t, `rules: [{name: chat, key: all, refund_on: [`+test.refundOn+`],
  limits: [{name: tokens, capacity: 1000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 900, settle: true}}]}]`)
		reserving := request("GET", "/", map[string]string{"x-tokens": "10"})
		handler := limitlambda.Wrap(g, func(context.Context, httpRequest) (httpAnswer, error) {
			if err, ok := test.broken.(error); ok {
				return httpAnswer{}, err
			}
			panic(test.broken)
		})
		if got := failureOf(func() error { return second(handler(t.Context(), reserving)) }); got != test.broken {
			t.Errorf("%s: the runtime gets %v", name, got)
		}
		left, err := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil))(t.Context(), reserving)
		if err != nil || left.Headers["X-RateLimit-Remaining"] != test.left {
			t.Errorf("%s: %v left, %v; want %s", name, left.Headers, err, test.left)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// failureOf returns the error of a call, or what it panics with.
func failureOf(call func() error) (failure any) {
	defer func() {
		if p := recover(); p != nil {
			failure = p
		}
	}()
	return call()
}

// TestSpoofing: nothing that a client sends changes who it is.
func TestSpoofing(t *testing.T) {
	handler := limitlambda.Wrap(newGate(t, `rules: [{name: all, key: "{ip}|{jwt.sub}|{apikey}|{stage}", limit: 1/minute}]`), answering(httpAnswer{StatusCode: 200}, nil),
		limitlambda.TrustAuthorizer())
	for i, headers := range []map[string]string{
		nil,
		{"x-forwarded-for": "198.51.100.1"},
		{"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.2", "X-Real-Ip": "198.51.100.3"},
		{"x-amzn-oidc-data": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."},
		{"x-api-key": "a1b2c3", "x-amz-stage": "other", "requestContext": `{"authorizer":{"jwt":{"claims":{"sub":"x"}}}}`},
	} {
		want := 429
		if i == 0 {
			want = 200
		}
		if got, err := handler(t.Context(), request("GET", "/", headers)); err != nil || got.StatusCode != want {
			t.Errorf("%v: status %d, %v; want %d", headers, got.StatusCode, err, want)
		}
	}
}

// TestAuthorizerContext: what a Lambda authorizer says counts only if the program
// trusts it. Claims of a Cognito authorizer cannot come from a Lambda authorizer,
// whose context holds no objects.
func TestAuthorizerContext(t *testing.T) {
	for name, test := range map[string]struct {
		context map[string]any
		options []limithttp.GateOption
		want    string
	}{
		"no authorizer":         {nil, nil, "anonymous -"},
		"nobody trusted":        {nil, []limithttp.GateOption{limitlambda.TrustAuthorizer()}, "anonymous -"},
		"not trusted":           {map[string]any{"sub": "7"}, nil, "anonymous -"},
		"trusted":               {map[string]any{"sub": "7"}, []limithttp.GateOption{limitlambda.TrustAuthorizer()}, "known 7"},
		"a text named claims":   {map[string]any{"claims": `{"sub":"7"}`}, nil, "anonymous -"},
		"Cognito":               {map[string]any{"claims": map[string]any{"sub": "7"}}, nil, "known 7"},
		"Cognito is no context": {map[string]any{"claims": map[string]any{"sub": "7"}}, []limithttp.GateOption{limitlambda.TrustAuthorizer()}, "known 7"},
	} {
		var seen limittest.Recorder
		g := newGate(t, `rules: [{name: known, when: {caller: known}, key: "{jwt.sub}", limit: 9/minute}, {name: anonymous, when: {caller: anonymous}, key: "{jwt.sub}", limit: 9/minute}]`,
			slidegate.WithObserver(seen.Observe))
		ev := restRequest{Resource: "/", Path: "/", HTTPMethod: "GET"}
		ev.RequestContext.Identity.SourceIP, ev.RequestContext.Authorizer = "203.0.113.9", test.context
		if _, err := limitlambda.Wrap(g, rest, test.options...)(t.Context(), ev); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e := seen.Events()[0]; e.Rule+" "+e.Key != test.want {
			t.Errorf("%s: counted by %s %s, want %s", name, e.Rule, e.Key, test.want)
		}
	}
}

// TestDelays: a request of a leaky bucket waits for its turn, but not if MaxDelay or
// the function's deadline comes first.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := newLimiter(t, slidegate.LeakyBucket(1, time.Second, 10))
		handler := limitlambda.WrapLimiter(lim, nil, answering(httpAnswer{StatusCode: 200}, nil), limithttp.MaxDelay(3*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start := time.Now()
		for i, want := range []string{"0s 200", "1s 200", "0s 429", "0s 429"} { // turns in 0 s, 1 s, then 1 s and 2 s after the deadline
			if i == 2 {
				time.Sleep(500 * time.Millisecond) // 1 s is left, and turns are in 500 ms and 1.5 s
				if _, err := handler(ctx, request("GET", "/", nil)); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			got, err := handler(ctx, request("GET", "/", nil))
			if did := fmt.Sprint(time.Since(begun), " ", got.StatusCode); err != nil || did != want {
				t.Errorf("request %d after %v: %s, %v; want %s", i, begun.Sub(start), did, err, want)
			}
			if got.StatusCode == 429 && got.Headers["Retry-After"] == "" {
				t.Errorf("request %d: %v", i, got.Headers)
			}
		}
	})
}
