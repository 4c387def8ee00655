package limitlambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/gate/rulesfile"
	"github.com/slidegate/slidegate/internal/test/golden"
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
