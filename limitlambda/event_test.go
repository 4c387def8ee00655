package limitlambda_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/limittest"
)

// TestMalformed: an event without what rules need is an error that names it. The
// handler does not run.
func TestMalformed(t *testing.T) {
	g := newGate(t, `rules: [{name: all, key: "{ip}", limit: 9/minute}]`)
	for name, test := range map[string]struct {
		wrapped               any
		event, from, to, want string
	}{
		"REST, no address":      {limitlambda.Wrap(g, rest), "rest", `"sourceIp"`, `"x"`, "no requestContext.identity.sourceIp"},
		"REST, the console's":   {limitlambda.Wrap(g, rest), "rest", `"sourceIp": "203.0.113.9"`, `"sourceIp": "test-invoke-source-ip"`, "event is a test by API Gateway"},
		"REST, no method":       {limitlambda.Wrap(g, rest), "rest", `"httpMethod"`, `"x"`, "no httpMethod"},
		"REST event of a queue": {limitlambda.Wrap(g, rest), "sqs", ``, ``, "no httpMethod, no path"},
		"HTTP, another type":    {limitlambda.Wrap(g, httpAPI), "rest", ``, ``, "no requestContext.http.method, no rawPath"},
		"ALB, no address":       {limitlambda.Wrap(g, alb), "alb", `"x-forwarded-for"`, `"x"`, "header x-forwarded-for does not end with an IP address"},
		"ALB, no balancer":      {limitlambda.Wrap(g, alb), "alb", `"targetGroupArn"`, `"x"`, "no requestContext.elb.targetGroupArn"},
		"WebSocket, no route":   {limitlambda.Wrap(g, webSocket), "websocket-message", `"routeKey"`, `"x"`, "no requestContext.routeKey"},
	} {
		event := strings.ReplaceAll(string(eventFile(t, test.event)), test.from, test.to)
		if test.from == "" {
			event = string(eventFile(t, test.event))
		}
		if got := invoke(t, test.wrapped, []byte(event)); !strings.HasPrefix(got, "error: limitlambda: event") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}

// TestUnmetInMessages: a rule that reads a header cannot apply to messages, and is
// refused instead of counting all of them together.
func TestUnmetInMessages(t *testing.T) {
	g := newGate(t, `rules: [{name: user, key: "{header.x-user}", limit: 9/minute}]`)
	if got := invoke(t, limitlambda.Wrap(g, webSocket), eventFile(t, "websocket-message")); !strings.Contains(got, `"statusCode": 503`) {
		t.Errorf("a message gets %s, want 503", got)
	}
	if got := invoke(t, limitlambda.Wrap(g, webSocket), eventFile(t, "websocket-connect")); !strings.Contains(got, `"statusCode": 200`) {
		t.Errorf("the handshake gets %s, want 200", got)
	}
}

// TestSharedHeaders: a handler may return the same map with every answer.
func TestSharedHeaders(t *testing.T) {
	shared, multi := map[string]string{"x-own": "1", "X-OWN": "2"}, map[string][]string{"Slidegate-Cost": {"all=1"}, "Vary": {"Origin", "Accept"}}
	handler := limitlambda.Wrap(newGate(t, `rules: [{name: all, key: all, limit: 9/minute}]`), answering(httpAnswer{StatusCode: 200, Headers: shared, MultiValueHeaders: multi}, nil))
	for _, want := range []string{"8", "7"} {
		got, err := handler(t.Context(), request("GET", "/", nil))
		if err != nil || got.Headers["X-RateLimit-Remaining"] != want || got.Headers["x-own"] != "1" || got.Headers["X-OWN"] != "2" || len(got.MultiValueHeaders) != 1 {
			t.Errorf("got %v %v, %v", got.Headers, got.MultiValueHeaders, err)
		}
	}
	if len(shared) != 2 || len(multi) != 2 {
		t.Errorf("the handler's maps changed: %v %v", shared, multi)
	}
}

// TestOptions: those of the middleware see the event's request.
func TestOptions(t *testing.T) {
	g := newGate(t, `rules: [{name: all, key: "{jwt.sub}", limit: 1/minute}]`)
	handler := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil),
		limithttp.SkipIf(func(r *http.Request) bool { return r.URL.Path == "/a b" && r.Host == "api.example" }),
		limithttp.WithRequest(func(r *http.Request, of *gate.Request) {
			of.Claims = map[string]any{"sub": r.Header.Get("X-User") + r.URL.Query().Get("q") + of.Stage}
		}),
		limithttp.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *gate.Decision) {
			http.Error(w, "no more for "+d.Key, http.StatusServiceUnavailable)
		}))
	health := request("GET", "/a%20b", map[string]string{"host": "api.example"})
	user := request("GET", "/", map[string]string{"x-user": "alice"})
	user.RawQueryString = "q=1"
	for i, test := range []struct {
		event  httpRequest
		status int
		body   string
	}{{user, 200, ""}, {user, 503, "no more for alice1$default\n"}, {health, 200, ""}} {
		got, err := handler(t.Context(), test.event)
		if err != nil || got.StatusCode != test.status || got.Body != test.body {
			t.Errorf("event %d: %d %q, %v", i, got.StatusCode, got.Body, err)
		}
	}
}

// TestWrapLimiter counts by the event's own type, by a header, and by the address.
func TestWrapLimiter(t *testing.T) {
	bySub := func(ev httpRequest) string { return ev.RequestContext.Authorizer.JWT.Claims["sub"] }
	for name, test := range map[string]struct {
		key     func(httpRequest) string
		options []limithttp.Option
		want    string
	}{
		"a claim":          {bySub, nil, "9b2f0d5e"},
		"the address":      {nil, nil, "ip:203.0.113.9"},
		"a header":         {nil, []limithttp.Option{limithttp.ByHeader("X-User")}, "x-user:alice"},
		"the proxy before": {nil, []limithttp.Option{limithttp.ByForwardedIP(1)}, "ip:198.51.100.7"},
	} {
		var seen limittest.Recorder
		lim := newLimiter(t, slidegate.SlidingWindow(1, time.Minute), slidegate.WithObserver(seen.Observe), slidegate.WithClock(limittest.NewClock(noon).Now))
		handler := limitlambda.WrapLimiter(lim, test.key, httpAPI, test.options...)
		first, second := invoke(t, handler, eventFile(t, "http")), invoke(t, handler, eventFile(t, "http"))
		if !strings.Contains(first, `"statusCode": 200`) || !strings.Contains(second, `"statusCode": 429`) || seen.Events()[0].Key != test.want {
			t.Errorf("%s: %s, then %s, counted by %s", name, first, second, seen.Events()[0].Key)
		}
	}
}

// TestHealthChecks of a load balancer are not counted. A client cannot send one:
// the balancer adds its address.
func TestHealthChecks(t *testing.T) {
	handler := limitlambda.Wrap(newGate(t, `rules: [{name: all, key: all, limit: 1/minute}]`), alb)
	const check = `{"requestContext": {"elb": {"targetGroupArn": "arn"}}, "httpMethod": "GET", "path": "/", "headers": {"user-agent": "ELB-HealthChecker/2.0"%s}}`
	for i, test := range []struct{ more, want string }{
		{``, `"statusCode": 200`}, {``, `"statusCode": 200`},
		{`, "x-forwarded-for": "203.0.113.9"`, `"statusCode": 200`}, {`, "x-forwarded-for": "203.0.113.9"`, `"statusCode": 429`},
		{``, `"statusCode": 200`},
	} {
		if got := invoke(t, handler, []byte(strings.Replace(check, "%s", test.more, 1))); !strings.Contains(got, test.want) {
			t.Errorf("event %d: %s; want %s", i, got, test.want)
		}
	}
}

// TestGuests: a guest of a Cognito identity pool signs its requests, and can get a
// new identity for each of them.
func TestGuests(t *testing.T) {
	const rules = `rules: [{name: known, when: {caller: known}, key: "{jwt.cognitoIdentityId}", limit: 9/minute}, {name: anonymous, when: {caller: anonymous}, key: "{ip}", limit: 9/minute}]`
	for name, test := range map[string]struct{ event, from, to, want string }{
		"REST, a user":  {"rest-iam", "", "", "known us-east-1%3A3f291106"},
		"REST, a guest": {"rest-iam", `"cognitoAuthenticationType": null`, `"cognitoAuthenticationType": "unauthenticated"`, "anonymous 203.0.113.9"},
		"HTTP, a user":  {"http-iam", "", "", "known us-east-1%3A3f291106"},
		"HTTP, a guest": {"http-iam", `"foo"`, `"unauthenticated"`, "anonymous 203.0.113.9"},
	} {
		var seen limittest.Recorder
		g := newGate(t, rules, slidegate.WithObserver(seen.Observe))
		wrapped := any(limitlambda.Wrap(g, rest))
		if test.event == "http-iam" {
			wrapped = limitlambda.Wrap(g, httpAPI)
		}
		invoke(t, wrapped, []byte(strings.Replace(string(eventFile(t, test.event)), test.from, test.to, 1)))
		if e := seen.Events()[0]; e.Rule+" "+e.Key != test.want {
			t.Errorf("%s: counted by %s %s, want %s", name, e.Rule, e.Key, test.want)
		}
	}
}

// TestSamePath: the same request gets the same answer behind every kind of API. REST
// APIs and function URLs state its path as sent, and HTTP APIs decoded.
func TestSamePath(t *testing.T) {
	g := newGate(t, `
deny: [{path: /admin}]
skip: [{path: /health}]
rules: [{name: tags, when: {path: [/tags/**, /health*]}, key: all, limit: 1000/minute}]`)
	rest := limitlambda.Wrap(g, func(context.Context, restRequest) (restAnswer, error) { return restAnswer{StatusCode: 200}, nil })
	api := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil))
	functionURL := limitlambda.Wrap(g, func(context.Context, events.LambdaFunctionURLRequest) (httpAnswer, error) {
		return httpAnswer{StatusCode: 200}, nil
	})
	statusOf := map[string]func(sent, decoded string) (int, string, error){
		"REST":         func(sent, _ string) (int, string, error) { return ofREST(t, rest, "/{proxy+}", sent) },
		"HTTP 1.0":     func(_, decoded string) (int, string, error) { return ofREST(t, rest, "/{proxy+}", decoded) },
		"1.0 $default": func(_, decoded string) (int, string, error) { return ofREST(t, rest, "$default", decoded) },
		"HTTP 2.0": func(_, decoded string) (int, string, error) {
			a, err := api(t.Context(), request("GET", decoded, nil))
			return a.StatusCode, a.Headers["RateLimit"], err
		},
		"function URL": func(sent, _ string) (int, string, error) {
			ev := events.LambdaFunctionURLRequest{RawPath: sent}
			ev.RequestContext.HTTP.Method, ev.RequestContext.HTTP.SourceIP = "GET", "203.0.113.9"
			a, err := functionURL(t.Context(), ev)
			return a.StatusCode, a.Headers["RateLimit"], err
		},
	}
	for sent, want := range map[string]int{
		"/tags/c%23": 200, "/tags/%23": 200, "/tags/%23/b": 200, "/tags/a%20b": 200, "/tags/%C3%A9": 200, "/health%23": 200, // limited, not skipped
		"/admin": 403, "/admin%23": 403, "/ADMIN%23x": 403, "/admin/%23/x": 403, "/x/..%23": 400, "/tags/../admin%23": 400,
		"/tags/100%25": 400, "/tags/a%3Fb": 400, "/tags/a%5Cb": 400, "/tags/a%3Bb": 400,
	} {
		decoded, err := url.PathUnescape(sent)
		if err != nil {
			t.Fatal(err)
		}
		for kind, status := range statusOf {
			got, limits, err := status(sent, decoded)
			if err != nil || got != want || (limits != "") != (want == 200) {
				t.Errorf("%s: %s is answered %d with limits %q, error %v; want %d", kind, sent, got, limits, err, want)
			}
		}
	}
}

type restAnswer = events.APIGatewayProxyResponse

func ofREST(t *testing.T, rest limitlambda.Handler[restRequest, restAnswer], resource, path string) (int, string, error) {
	ev := restRequest{HTTPMethod: "GET", Resource: resource, Path: path, PathParameters: map[string]string{"proxy": strings.TrimPrefix(path, "/")}}
	ev.RequestContext.Identity.SourceIP = "203.0.113.9"
	a, err := rest(t.Context(), ev)
	return a.StatusCode, a.Headers["RateLimit"], err
}

// FuzzWrap: every event, whatever kind of handler gets it, causes an error or an
// answer. Nothing panics, because that would end the function's process.
func FuzzWrap(f *testing.F) {
	files, err := filepath.Glob("testdata/*.event.json")
	if err != nil || len(files) < len(kinds) {
		f.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	answers := []int{200, 400, 403, 429, 503}
	g := newGate(f, `
client_ip: {trusted_hops: 1}
deny: [{path: /banned}]
rules: [{name: r, key: "{method}|{route}|{jwt.sub}|{path.id}", limit: 5/minute}]`)
	var handlers []lambda.Handler
	for _, kind := range kinds {
		handlers = append(handlers, lambda.NewHandler(kind.wrap(g)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, handler := range handlers {
			answer, err := handler.Invoke(t.Context(), data)
			var read struct{ StatusCode int }
			if err == nil && (json.Unmarshal(answer, &read) != nil || !slices.Contains(answers, read.StatusCode)) {
				t.Errorf("answer %s", answer)
			}
		}
	})
}
